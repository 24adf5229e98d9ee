class Odd(ValueError):
    def __init__(self, n): super().__init__(f"{n} is odd"); self.n = n
try:
    raise Odd(3) from KeyError("k")
except ValueError as error:
    result = [str(error), error.n, type(error.__cause__).__name__]
# => ["3 is odd",3,"KeyError"]
