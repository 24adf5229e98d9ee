n = 0
def up():
    global n
    n += 1
up(); up(); n
# => 2
