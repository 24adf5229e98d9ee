def counter():
    n = 0
    def up():
        nonlocal n; n += 1; return n
    return up
up = counter(); [up(), up()]
# => [1,2]
