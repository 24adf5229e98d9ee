"""A plain server of 2025-11-25 on standard input and output, without any library: what most servers cost."""

import json
import sys

TOOLS = [
    {"name": "echo", "description": "Returns its arguments", "inputSchema": {"type": "object"}},
    {"name": "ask", "description": "Asks the person", "inputSchema": {"type": "object"}},
    {
        "name": "job",
        "description": "Takes long",
        "inputSchema": {"type": "object"},
        "execution": {"taskSupport": "optional"},
    },
]
CAPABILITIES = {
    "tools": {},
    "resources": {"subscribe": True},
    "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}},
}
WHEN = "2026-01-01T00:00:00Z"
TASK = {"taskId": "1", "status": "working", "createdAt": WHEN, "lastUpdatedAt": WHEN, "ttl": 600000}
FORM = {"type": "object", "properties": {"name": {"type": "string"}}}


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def call(request, name, params):
    if name == "ask":
        asked = {"message": "Who?", "requestedSchema": FORM}
        return send({"id": "question", "method": "elicitation/create", "params": asked})
    if name == "job" and "task" in params:
        return send({"id": request, "result": {"task": TASK}})
    text = json.dumps(params.get("arguments", {}))
    send({"id": request, "result": {"content": [{"type": "text", "text": text}]}})


def answer(request, method, params):
    if method == "initialize":
        about = {"name": "plain", "version": "1"}
        result = {"protocolVersion": params["protocolVersion"], "capabilities": CAPABILITIES, "serverInfo": about}
    elif method == "tools/list":
        result = {"tools": TOOLS}
    elif method == "tools/call":
        return call(request, params["name"], params)
    elif method == "resources/list":
        result = {"resources": [{"uri": "plain://one", "name": "one"}]}
    elif method in ("ping", "resources/subscribe", "resources/unsubscribe"):
        result = {}
    else:
        return send({"id": request, "error": {"code": -32601, "message": "method not found"}})
    send({"id": request, "result": result})


for line in sys.stdin:
    heard = json.loads(line)
    if "method" in heard and "id" in heard:
        answer(heard["id"], heard["method"], heard.get("params", {}))
