import asyncio
ids = [order["id"] for order in device.ShopMCP.orders(page=1)["orders"]]
orders = await asyncio.gather(*[device.ShopMCP.order(id=i) for i in ids])
sorted(order["customer"] for order in orders)
# => ["ann","bob","cid","dan","eve"]
