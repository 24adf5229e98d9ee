import json
rows = json.loads(device.ShopMCP.report())
max(rows, key=lambda row: row["value"])["name"]
# => "b"
