value = await 5
async def f(): return await {"a": 1}
[value, await f()]
# => [5,{"a":1}]
