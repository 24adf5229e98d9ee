"""The shop whose orders people and agents work with while the page is looked at: a server in one file, without a library."""

import json
import sys

CUSTOMER = {
    "type": "object",
    "description": "Who gets it",
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "email": {"type": "string", "format": "email"},
    },
    "required": ["name"],
}
ITEM = {
    "type": "object",
    "properties": {
        "article": {"type": "string", "description": "As in the catalogue"},
        "quantity": {"type": "integer", "minimum": 1, "default": 1},
    },
    "required": ["article"],
}
DELIVERY = {
    "description": "How it gets there",
    "anyOf": [
        {
            "title": "picked up",
            "type": "object",
            "properties": {"shop": {"type": "string", "enum": ["Berlin", "Lisbon", "Osaka"]}},
            "required": ["shop"],
        },
        {
            "title": "sent",
            "type": "object",
            "properties": {"address": {"type": "string"}, "express": {"type": "boolean"}},
            "required": ["address"],
        },
    ],
}
TOOLS = [
    {
        "name": "list_orders",
        "description": "The orders of a day",
        "inputSchema": {"type": "object", "properties": {"day": {"type": "string", "format": "date"}}},
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "create_order",
        "title": "Create an order",
        "description": "Orders articles for a customer",
        "inputSchema": {
            "type": "object",
            "properties": {
                "customer": {"$ref": "#/$defs/customer"},
                "items": {"type": "array", "items": {"$ref": "#/$defs/item"}, "minItems": 1},
                "delivery": DELIVERY,
                "note": {"type": "string"},
            },
            "required": ["customer", "items"],
            "$defs": {"customer": CUSTOMER, "item": ITEM},
        },
    },
    {
        "name": "cancel_order",
        "description": "Cancels an order; what was paid is paid back",
        "inputSchema": {
            "type": "object",
            "properties": {"order": {"type": "string"}, "reason": {"type": "string"}},
            "required": ["order"],
        },
        "annotations": {"destructiveHint": True},
    },
]


def called(name, arguments):
    if name == "create_order":
        created = {"order": "2026-117", "for": arguments["customer"]["name"], "items": len(arguments["items"])}
        return {"content": [{"type": "text", "text": json.dumps(created)}], "structuredContent": created}
    if name == "cancel_order":
        return {"content": [{"type": "text", "text": f"order {arguments['order']} is cancelled"}]}
    orders = [{"order": "2026-115", "total": "18.40"}, {"order": "2026-116", "total": "7.90"}]
    return {"content": [{"type": "text", "text": json.dumps(orders)}]}


def answer(method, params):
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "orders", "version": "2.1.0"},
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        return called(params["name"], params.get("arguments", {}))
    if method == "ping":
        return {}
    return None


print("orders: 2 shops, 116 orders", file=sys.stderr, flush=True)
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request or "method" not in request:
        continue
    result = answer(request["method"], request.get("params", {}))
    reply = {"jsonrpc": "2.0", "id": request["id"]}
    if result is None:
        reply["error"] = {"code": -32601, "message": "Method not found"}
    else:
        reply["result"] = result
    print(json.dumps(reply), flush=True)
