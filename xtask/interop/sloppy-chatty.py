# A server as people write them in an afternoon, for interop runs: it talks on stdout, declares nothing, does not know half of the
# methods and says nothing to them; what it answers is right all the same.
import json
import sys


def say(message):
    print(json.dumps(message), flush=True)


print("Chatty server 0.1 ready!", flush=True)
print("[info] waiting for input...")
for line in sys.stdin:
    print(f"[debug] got {len(line)} bytes", flush=True)
    try:
        request = json.loads(line)
    except ValueError:
        continue
    method, params = request.get("method"), request.get("params") or {}
    if method == "initialize":
        result = {"protocolVersion": params.get("protocolVersion", "2024-11-05"), "serverInfo": {"name": "chatty"}}
    elif method == "tools/list":
        schema = {"type": "object", "properties": {"text": {"type": "string"}}}
        result = {"tools": [{"name": "shout", "description": "Shouts", "inputSchema": schema}]}
    elif method == "tools/call":
        print("calling", params["name"], flush=True)
        result = {"content": [{"type": "text", "text": str(params["arguments"].get("text")).upper()}]}
    else:
        continue
    say({"jsonrpc": "2.0", "id": request["id"], "result": result})
