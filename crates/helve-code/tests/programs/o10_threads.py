from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(max_workers=5) as pool:
    amounts = list(pool.map(lambda i: device.ShopMCP.order(id=i)["amount"], range(1, 6)))
amounts
# => [10,20,30,40,50]
