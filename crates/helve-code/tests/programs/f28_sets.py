{"a": {1, 2} <= {1, 2, 3}, "b": sorted({1, 2} ^ {2, 3}), "c": sorted(frozenset("hello"))}
# => {"a":true,"b":[1,3],"c":["e","h","l","o"]}
