lookup = device.ShopMCP.order
[lookup(id=i)["customer"] for i in (1, 2)]
# => ["ann","bob"]
