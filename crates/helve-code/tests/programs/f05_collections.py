from collections import Counter, defaultdict, deque, namedtuple
Point = namedtuple("Point", "x y")
d = defaultdict(list)
for word in "a bb cc".split(): d[len(word)].append(word)
[Counter("hello").most_common(1), dict(d), list(deque([1, 2, 3], maxlen=2)), Point(1, 2)]
# => [[["l",2]],{"1":["a"],"2":["bb","cc"]},[2,3],[1,2]]
