import asyncio
tasks = [asyncio.create_task(device.ShopMCP.order(id=i)) for i in range(1, 4)]
total = 0
for task in asyncio.as_completed(tasks):
    total += (await task)["amount"]
total
# => 60
