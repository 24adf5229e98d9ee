log = []
def f():
    try:
        log.append("try"); return "r"
    finally:
        log.append("finally")
log.append(f()); log
# => ["try","finally","r"]
