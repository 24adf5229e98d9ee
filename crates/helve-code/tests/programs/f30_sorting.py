rows = [("b", 2), ("a", 2), ("c", 1)]
sorted(rows, key=lambda r: (-r[1], r[0]))
# => [["a",2],["b",2],["c",1]]
