import textwrap, string
[" a ".strip(), "a,b".partition(","), "x".zfill(3), "Hello".swapcase(), textwrap.shorten("hello big world", 11), string.capwords("a b"), "abc".removeprefix("a")]
# => ["a",["a",",","b"],"00x","hELLO","hello [...]","A B","bc"]
