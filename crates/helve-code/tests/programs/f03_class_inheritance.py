class Base:
    def __init__(self, n): self.n = n
    def double(self): return self.n * 2
class Child(Base):
    @property
    def triple(self): return super().double() + self.n
Child(3).triple
# => 9
