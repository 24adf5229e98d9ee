import asyncio
async def work(n):
    await asyncio.sleep(0.001 * (3 - n)); return n
if hasattr(asyncio, "TaskGroup"):
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(work(n)) for n in range(3)]
    result = [task.result() for task in tasks]
else:
    result = await asyncio.gather(*map(work, range(3)))
# => [0,1,2]
