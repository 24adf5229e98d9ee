for attempt in range(5):
    try:
        result = device.ShopMCP.flaky(attempt=attempt)
        break
    except ToolError:
        continue
# => "worked at 2"
