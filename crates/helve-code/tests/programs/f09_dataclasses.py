from dataclasses import dataclass, field, asdict
@dataclass(order=True)
class P:
    x: int
    tags: list = field(default_factory=list)
asdict(max([P(1), P(2, ["a"])]))
# => {"x":2,"tags":["a"]}
