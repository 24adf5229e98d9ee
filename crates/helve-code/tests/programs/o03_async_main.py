import asyncio

async def fetch(number):
    order = await device.ShopMCP.order(id=number)
    return order["amount"]

async def main():
    return sum(await asyncio.gather(*(fetch(n) for n in range(1, 6))))

asyncio.run(main())
# => 150
