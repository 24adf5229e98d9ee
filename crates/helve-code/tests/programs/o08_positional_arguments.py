device.ShopMCP.join("a", "b", "-")
# => "a-b"
