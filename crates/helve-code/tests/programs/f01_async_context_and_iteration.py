import asyncio
class Lines:
    async def __aenter__(self): return self
    async def __aexit__(self, *a): return False
    async def __aiter__(self):
        for i in range(3):
            await asyncio.sleep(0)
            yield i
got = []
async with Lines() as lines:
    async for i in lines: got.append(i)
got + [x async for x in lines]
# => [0,1,2,0,1,2]
