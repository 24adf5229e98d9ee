from __future__ import annotations
from typing import TypedDict, Optional, Any
class Row(TypedDict):
    a: int
def f(x: Optional[int] = None, y: int | None = 3) -> Any: return y
[f(), Row(a=1)]
# => [3,{"a":1}]
