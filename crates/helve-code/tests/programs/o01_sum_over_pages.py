total, page = 0, 1
while page:
    answer = device.ShopMCP.orders(page=page)
    total += sum(order["amount"] for order in answer["orders"])
    page = answer["next"]
total
# => 550
