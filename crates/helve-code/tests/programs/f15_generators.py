def count(n):
    for i in range(n):
        got = yield i
        if got: yield got
g = count(3); next(g)
[g.send("x")] + list(g)
# => ["x",1,2]
