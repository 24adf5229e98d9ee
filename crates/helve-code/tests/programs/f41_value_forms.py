from decimal import Decimal
{1: (1, 2), None: {3}, "nan": float("nan"), "big": 10**20, "bytes": b"x", "dec": Decimal("1.5")}
# => {"1":[1,2],"None":[3],"nan":null,"big":100000000000000000000,"bytes":"b'x'","dec":"Decimal('1.5')"}
