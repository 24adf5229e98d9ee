[y for x in range(5) if (y := x * x) > 3]
# => [4,9,16]
