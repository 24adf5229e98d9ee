import asyncio
def get(i):
    return device.ShopMCP.order(id=i)
orders = await asyncio.gather(*[get(i) for i in (1, 2)])
[o["id"] for o in orders] + [get(3)["id"]]
# => [1,2,3]
