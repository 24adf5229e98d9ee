found = search_skills("order")
names = [one["name"] for one in found]
return ("device.ShopMCP.order" in names, devices.local.ShopMCP.order(id=1)["id"], "id" in device.describe("device.ShopMCP.order"))
# => [true,1,true]
