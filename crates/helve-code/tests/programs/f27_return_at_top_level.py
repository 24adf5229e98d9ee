for i in range(10):
    try:
        if i == 3: return {"stopped": i}
    except:
        return "never"
# => {"stopped":3}
