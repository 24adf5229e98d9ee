# A server as people write them in an afternoon, for interop runs: each of its tools answers in a way that JSON-RPC does not allow.
#   bare      without `jsonrpc`
#   worded    with the id as a text
#   garbled   with a line that is not JSON
#   stringy   with a result that is only a text
#   well      as it should be
import json
import sys

TOOLS = ["bare", "worded", "garbled", "stringy", "well"]


def say(message):
    print(json.dumps(message), flush=True)


for line in sys.stdin:
    request = json.loads(line)
    method, id = request.get("method"), request.get("id")
    if method == "initialize":
        version = request["params"]["protocolVersion"]
        about = {"name": "careless", "version": "1"}
        say({"jsonrpc": "2.0", "id": id, "result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}})
    elif method == "tools/list":
        tools = [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]
        say({"jsonrpc": "2.0", "id": id, "result": {"tools": tools}})
    elif method == "tools/call":
        name = request["params"]["name"]
        result = {"content": [{"type": "text", "text": f"{name} done"}]}
        if name == "bare":
            say({"id": id, "result": result})
        elif name == "worded":
            say({"jsonrpc": "2.0", "id": str(id), "result": result})
        elif name == "garbled":
            print("{'jsonrpc': '2.0', 'result': oops}", flush=True)
        elif name == "stringy":
            say({"jsonrpc": "2.0", "id": id, "result": "done"})
        else:
            say({"jsonrpc": "2.0", "id": id, "result": result})
    elif id is not None:
        say({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "what?"}})
