device.ShopMCP.join("a", "b", separator=None)
# => "a+b"
