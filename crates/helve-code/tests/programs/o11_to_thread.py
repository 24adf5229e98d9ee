import asyncio
first, second = await asyncio.gather(
    asyncio.to_thread(device.ShopMCP.order, id=1), asyncio.to_thread(device.ShopMCP.order, id=2)
)
first["amount"] + second["amount"]
# => 30
