"""A small MCP server for the tests, written by hand so that nothing but Python is needed: `python server.py [LOGFILE]`."""

import json
import sys
import threading

lock = threading.Lock()
waiting = {}
cancelled = {}
subscribed = set()
numbers = iter(range(1, 1_000_000))
counter = iter(range(1, 1_000_000))
log_file = sys.argv[1] if len(sys.argv) > 1 else None


def note(text):
    if log_file:
        with lock, open(log_file, "a", encoding="utf-8") as file:
            file.write(text + "\n")


def send(message):
    with lock:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def ask(method, params):
    """Asks the client, and waits for its answer."""
    number = f"s{next(numbers)}"
    done = threading.Event()
    waiting[number] = [done, None]
    send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
    done.wait(30)
    return waiting.pop(number)[1]


def text(value, **more):
    return {"content": [{"type": "text", "text": value}], **more}


def schema(properties=None, required=()):
    return {"type": "object", "properties": properties or {}, "required": list(required)}


TOOLS = [
    {"name": "echo", "description": "Says it again", "inputSchema": schema({"text": {"type": "string"}}, ["text"])},
    {
        "name": "add",
        "description": "Adds two numbers",
        "inputSchema": schema({"a": {"type": "integer"}, "b": {"type": "integer"}}, ["a", "b"]),
        "outputSchema": schema({"sum": {"type": "integer"}}, ["sum"]),
    },
    {"name": "fail", "description": "Always fails", "inputSchema": schema()},
    {"name": "slow", "description": "Takes a while", "inputSchema": schema({"seconds": {"type": "number"}})},
    {"name": "steps", "description": "Reports progress", "inputSchema": schema({"count": {"type": "integer"}})},
    {"name": "picture", "description": "Gives an image", "inputSchema": schema()},
    {"name": "big", "description": "Gives many bytes", "inputSchema": schema({"bytes": {"type": "integer"}})},
    {"name": "exit", "description": "Ends the server", "inputSchema": schema()},
    {"name": "ask", "description": "Asks the person", "inputSchema": schema()},
    {"name": "think", "description": "Asks the model", "inputSchema": schema()},
    {"name": "chatter", "description": "Logs something", "inputSchema": schema()},
    {"name": "count", "description": "Counts its calls", "inputSchema": schema()},
    {"name": "meta", "description": "Shows its metadata", "inputSchema": schema()},
    {"name": "touch", "description": "Changes the note", "inputSchema": schema()},
    {"name": "arguments", "description": "Shows its arguments", "inputSchema": {"type": "object"}},
]


def call(identity, params):
    name, given = params["name"], params.get("arguments") or {}
    note(f"call {name} {json.dumps(given, sort_keys=True)}")
    meta = params.get("_meta") or {}
    if name == "echo":
        return text(given["text"])
    if name == "add":
        total = given["a"] + given["b"]
        return text(str(total), structuredContent={"sum": total})
    if name == "fail":
        return text("it does not work", isError=True)
    if name == "slow":
        gone = cancelled.setdefault(identity, threading.Event())
        if gone.wait(given.get("seconds", 30)):
            note("cancelled")
            return None
        return text("at last")
    if name == "steps":
        for step in range(given.get("count", 3)):
            params = {"progressToken": meta.get("progressToken"), "progress": step + 1, "total": given.get("count", 3)}
            send({"jsonrpc": "2.0", "method": "notifications/progress", "params": {**params, "message": f"step {step + 1}"}})
        return text("done")
    if name == "picture":
        return {"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}, {"type": "text", "text": "hi"}]}
    if name == "big":
        return text("x" * given.get("bytes", 1_000_000))
    if name == "exit":
        sys.stdout.flush()
        import os

        os._exit(3)
    if name == "ask":
        form = schema({"city": {"type": "string"}}, ["city"])
        return text(json.dumps(ask("elicitation/create", {"message": "Which city?", "requestedSchema": form})))
    if name == "think":
        messages = [{"role": "user", "content": {"type": "text", "text": "2 + 2?"}}]
        return text(json.dumps(ask("sampling/createMessage", {"messages": messages, "maxTokens": 10})))
    if name == "chatter":
        send({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "logger": "demo", "data": "hm"}})
        return text("said")
    if name == "count":
        return text(str(next(counter)))
    if name == "meta":
        return text(json.dumps(meta))
    if name == "touch":
        for uri in subscribed:
            send({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}})
        return text("touched")
    return text(json.dumps(given))


def answer(message):
    method, params = message["method"], message.get("params") or {}
    if method == "initialize":
        note("capabilities " + json.dumps(params.get("capabilities")))
        return {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}, "resources": {"subscribe": True}, "prompts": {}, "logging": {}},
            "serverInfo": {"name": "tests", "version": "1"},
            "instructions": "Be kind.",
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        return call(message["id"], params)
    if method == "resources/list":
        return {"resources": [{"uri": "note:///one", "name": "one", "mimeType": "text/plain"}]}
    if method == "resources/templates/list":
        return {"resourceTemplates": [{"uriTemplate": "note:///{name}", "name": "notes"}]}
    if method == "resources/read":
        if params["uri"] != "note:///one":
            raise LookupError
        return {"contents": [{"uri": params["uri"], "text": "a note"}]}
    if method == "resources/subscribe":
        subscribed.add(params["uri"])
        return {}
    if method == "resources/unsubscribe":
        subscribed.discard(params["uri"])
        note("unsubscribed")
        return {}
    if method == "prompts/list":
        return {"prompts": [{"name": "greet", "arguments": [{"name": "who", "required": True}]}]}
    if method == "prompts/get":
        words = f"Greet {params['arguments']['who']}"
        return {"description": "A greeting", "messages": [{"role": "user", "content": {"type": "text", "text": words}}]}
    if method in ("ping", "logging/setLevel"):
        return {}
    raise NotImplementedError


def serve(message):
    try:
        result = answer(message)
    except NotImplementedError:
        send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no such method"}})
    except LookupError:
        send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32002, "message": "no such resource"}})
    else:
        if result is not None:
            send({"jsonrpc": "2.0", "id": message["id"], "result": result})


note("started")
for line in sys.stdin:
    message = json.loads(line)
    if "method" not in message:
        entry = waiting.get(message["id"])
        if entry:
            entry[1] = message.get("result", {"error": message.get("error")})
            entry[0].set()
    elif "id" not in message:
        if message["method"] == "notifications/cancelled":
            cancelled.setdefault(message["params"]["requestId"], threading.Event()).set()
    elif message["method"] in ("tools/call",) and message["params"]["name"] in ("slow", "ask", "think"):
        threading.Thread(target=serve, args=(message,), daemon=True).start()
    else:
        serve(message)
note("ended")
