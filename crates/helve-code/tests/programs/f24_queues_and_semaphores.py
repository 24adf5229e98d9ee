import asyncio
async def worker(queue, out, gate):
    while not queue.empty():
        item = await queue.get()
        async with gate: out.append(item * 2)
queue, out, gate = asyncio.Queue(), [], asyncio.Semaphore(2)
for i in range(5): queue.put_nowait(i)
await asyncio.gather(*(worker(queue, out, gate) for _ in range(3)))
sorted(out)
# => [0,2,4,6,8]
