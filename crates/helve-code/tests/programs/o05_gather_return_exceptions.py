import asyncio
answers = await asyncio.gather(*[device.ShopMCP.order(id=i) for i in (1, 99, 2)], return_exceptions=True)
[type(a).__name__ if isinstance(a, Exception) else a["customer"] for a in answers]
# => ["ann","ToolError","bob"]
