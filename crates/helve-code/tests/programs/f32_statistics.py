import statistics as st, math
[st.mean([1, 2, 3, 4]), st.median([3, 1, 2]), round(st.stdev([1, 2, 3]), 3), math.isclose(math.hypot(3, 4), 5)]
# => [2.5,2,1.0,true]
