def kind(value):
    match value:
        case {"type": "a", "n": int(n)} if n > 1: return f"a{n}"
        case [first, *rest]: return (first, rest)
        case str() | bytes(): return "text"
        case _: return None
[kind({"type": "a", "n": 2}), kind([1, 2, 3]), kind("x"), kind(4)]
# => ["a2",[1,[2,3]],"text",null]
