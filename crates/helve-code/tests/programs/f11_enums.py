from enum import Enum, IntEnum
class Color(Enum):
    RED = "r"
class Level(IntEnum):
    LOW = 1
[Color("r").name, Level.LOW + 1, [c.value for c in Color]]
# => ["RED",2,["r"]]
