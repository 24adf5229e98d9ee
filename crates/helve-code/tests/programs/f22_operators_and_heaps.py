import heapq, operator, bisect
heap = [5, 1, 4]; heapq.heapify(heap)
[heapq.heappop(heap), heapq.nlargest(2, heap), sorted([{"k": 2}, {"k": 1}], key=operator.itemgetter("k"))[0], bisect.bisect([1, 3], 2)]
# => [1,[5,4],{"k":1},1]
