first, *middle, last = range(6)
items = list(range(10)); items[2:5] = ["x"]; del items[-1]
[first, middle, last, items[::2]]
# => [0,[1,2,3,4],5,[0,"x",6,8]]
