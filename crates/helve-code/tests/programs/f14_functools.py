from functools import reduce, lru_cache, partial
@lru_cache
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
[fib(50), reduce(lambda a, b: a * b, [1, 2, 3]), partial(pow, 2)(5)]
# => [12586269025,6,32]
