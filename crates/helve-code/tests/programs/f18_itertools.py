import itertools as it
[list(it.chain([1], [2])), [(k, len(list(g))) for k, g in it.groupby("aab")], list(it.product("ab", [1]))]
# => [[1,2],[["a",2],["b",1]],[["a",1],["b",1]]]
