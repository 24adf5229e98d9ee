def inner(d): return d["missing"]
def outer():
    try: inner({})
    except KeyError as e: return [e.args[0], e.__traceback__ is not None]
outer()
# => ["missing",true]
