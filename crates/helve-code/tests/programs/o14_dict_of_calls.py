import asyncio
calls = {name: device.ShopMCP.order(id=i) for name, i in (("x", 1), ("y", 2))}
values = await asyncio.gather(*calls.values())
dict(zip(calls, (v["customer"] for v in values)))
# => {"x":"ann","y":"bob"}
