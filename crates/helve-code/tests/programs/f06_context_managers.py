from contextlib import contextmanager, suppress
@contextmanager
def tag(name, out):
    out.append(f"<{name}>"); yield; out.append(f"</{name}>")
out = []
with tag("a", out), suppress(ZeroDivisionError):
    1 / 0
out
# => ["<a>","</a>"]
