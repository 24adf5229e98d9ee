def flatten(x):
    for item in x:
        if isinstance(item, list): yield from flatten(item)
        else: yield item
list(flatten([1, [2, [3, [4]]]]))
# => [1,2,3,4]
