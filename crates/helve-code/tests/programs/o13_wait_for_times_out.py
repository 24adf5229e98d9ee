import asyncio
try:
    await asyncio.wait_for(device.ShopMCP.slow(ms=2000), timeout=0.05)
    result = "came"
except asyncio.TimeoutError:
    result = "gave up"
# => "gave up"
