shop = device.ShopMCP
getattr(shop, "ord" + "er")(id=2)["customer"] + shop.order(id=1)["customer"]
# => "bobann"
