def main():
    orders = device.ShopMCP.orders(page=2)["orders"]
    print(len(orders), "orders")
    return [o["id"] for o in orders]

if __name__ == "__main__":
    result = main()
# => [6,7,8,9,10]
