report = device.ShopMCP.report()
device.ShopMCP.size(text=report)
# => 59
