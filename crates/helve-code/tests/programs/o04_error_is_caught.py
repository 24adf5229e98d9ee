try:
    device.ShopMCP.order(id=99)
    result = "found"
except ToolError as error:
    result = {"text": str(error), "code": error.code, "server": error.server, "tool": error.tool}
# => {"text":"there is no order 99","code":"TOOL_ERROR","server":"shop","tool":"order"}
