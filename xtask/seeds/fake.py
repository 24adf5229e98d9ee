# A server of our own for the seeds, on nothing but the standard library: fake.py [--SWITCH[=VALUE]...]
#   --log=FILE      a line for every method, with the id of the process
#   --pages         two tools a page          --bare       declares no tools and no resources
#   --no-init       refuses initialize        --no-list    refuses tools/list
#   --exit=N        says why on stderr and ends at once
#   --once=FILE     starts a first time and never again while FILE exists
#   --serial        answers in the order of requests, one after another
#   --http=FILE     listens, and writes the port into FILE; with --bearer=TOKEN or --basic=USER:PASSWORD, --events (answers are
#                   streams with a message before), --broken (answers 500)
import base64
import json
import os
import sys
import threading
import time

SWITCHES = dict(word.lstrip("-").partition("=")[::2] for word in sys.argv[1:])
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg=="
counted = 0
added = []
lock = threading.Lock()


def tool(name, properties=None, required=(), **more):
    schema = {"type": "object", "properties": properties or {}, "required": list(required)}
    return {"name": name, "description": more.pop("description", f"Does {name}"), "inputSchema": schema, **more}


TEXT, NUMBER = {"type": "string"}, {"type": "number"}
LONG = "Searches the web. " + "It looks here and there, and then it looks again, as long as somebody pays for it. " * 4 + "End."
TOOLS = [
    tool("echo", {"x": TEXT}),
    tool("search", {"query": TEXT, "count": {"type": "integer", "default": 10}}, ["query"], description=LONG),
    tool("env", {"name": TEXT}, ["name"]),
    tool("cwd"),
    tool("counter"),
    tool("look", annotations={"readOnlyHint": True}),
    tool("destroy", annotations={"destructiveHint": True}),
    tool("slow", {"seconds": NUMBER}),
    tool("big", {"bytes": {"type": "integer"}}),
    tool("media"),
    tool("fail"),
    tool("fault"),
    tool("unknown"),
    tool("crash"),
    tool("garbage"),
    tool("grow"),
    tool("get-sum", {"a": NUMBER, "b": NUMBER}),
]
RESOURCES = [
    {"uri": "note://a", "name": "a", "mimeType": "text/plain", "description": "A note"},
    {"uri": "note://bin", "name": "bin", "mimeType": "image/png"},
]


class Fault(Exception):
    pass


def text(words):
    return {"content": [{"type": "text", "text": words}]}


def call(name, arguments):
    global counted
    if name == "env":
        return text(repr(os.environ.get(arguments["name"])))
    if name == "cwd":
        return text(os.getcwd())
    if name == "counter":
        counted += 1
        return text(str(counted))
    if name == "search":
        return text(f"results for {json.dumps(arguments)}")
    if name == "slow":
        time.sleep(arguments.get("seconds", 1))
        return text("at last")
    if name == "big":
        return text("x" * arguments["bytes"])
    if name == "media":
        return {
            "content": [
                {"type": "text", "text": "caption"},
                {"type": "image", "data": PIXEL, "mimeType": "image/png"},
                {"type": "resource", "resource": {"uri": "note://e", "mimeType": "text/plain", "text": "embedded"}},
                {"type": "resource_link", "uri": "note://a", "name": "a"},
            ]
        }
    if name == "fail":
        return {**text("it failed"), "isError": True}
    if name == "fault":
        raise Fault(-32000, "a fault")
    if name == "unknown":
        raise Fault(-32602, "Unknown tool: unknown")
    if name == "crash":
        print("fatal: missing API key", file=sys.stderr, flush=True)
        os._exit(3)
    if name == "garbage":
        emit_raw("this is not JSON at all")
        time.sleep(3600)
    if name == "grow":
        added.append(tool("grown"))
        emit({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        return text("grown")
    if name in ("look", "destroy", "grown"):
        return text(f"done {name}")
    return text(json.dumps(arguments))


def page(items, params, key):
    if "pages" not in SWITCHES:
        return {key: items}
    start = int(params.get("cursor") or 0)
    result = {key: items[start : start + 2]}
    if start + 2 < len(items):
        result["nextCursor"] = str(start + 2)
    return result


def answer(method, params):
    if method == "initialize":
        if "no-init" in SWITCHES:
            raise Fault(-32603, "init refused")
        has = {} if "bare" in SWITCHES else {"tools": {"listChanged": True}, "resources": {}}
        asked = params.get("protocolVersion", "2025-11-25")
        return {"protocolVersion": asked, "capabilities": has, "serverInfo": {"name": "fake", "version": "1.0"}}
    if method == "tools/list":
        if "no-list" in SWITCHES:
            raise Fault(-32603, "no list today")
        return page(TOOLS + added, params, "tools")
    if method == "tools/call":
        return call(params["name"], params.get("arguments") or {})
    if method == "resources/list":
        return {"resources": RESOURCES}
    if method == "resources/read":
        uri = params["uri"]
        if uri == "note://a":
            return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": "a note"}]}
        if uri == "note://bin":
            return {"contents": [{"uri": uri, "mimeType": "image/png", "blob": PIXEL}]}
        raise Fault(-32002, "no such note")
    if method == "ping":
        return {}
    raise Fault(-32601, f"unknown method {method}")


def log(line):
    if path := SWITCHES.get("log"):
        with open(path, "a") as file:
            file.write(f"{line} {os.getpid()}\n")


def handle(request):
    """The answer to a request; nothing for the rest."""
    version = (request.get("params") or {}).get("protocolVersion", "")
    log(f"{request.get('method')} {version}".strip())
    if "id" not in request or "method" not in request:
        return None
    try:
        return {"jsonrpc": "2.0", "id": request["id"], "result": answer(request["method"], request.get("params") or {})}
    except Fault as fault:
        error = {"code": fault.args[0], "message": fault.args[1]}
        return {"jsonrpc": "2.0", "id": request["id"], "error": error}


def emit(message):
    emit_raw(json.dumps(message))


def emit_raw(line):
    with lock:
        print(line, flush=True)


def serve_stdio():
    def respond(request):
        if (response := handle(request)) is not None:
            emit(response)

    for line in sys.stdin:
        request = json.loads(line)
        if "serial" in SWITCHES:
            respond(request)
        else:
            threading.Thread(target=respond, args=(request,), daemon=True).start()


def serve_http(path):
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def reply(self, status, body=b"", kind="application/json", **headers):
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self):
            self.reply(405)

        def do_DELETE(self):
            log("DELETE " + self.headers.get("Mcp-Session-Id", "none"))
            self.reply(200)

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            wanted = None
            if "bearer" in SWITCHES:
                wanted = "Bearer " + SWITCHES["bearer"]
            if "basic" in SWITCHES:
                wanted = "Basic " + base64.b64encode(SWITCHES["basic"].encode()).decode()
            about = [f"{name}={self.headers.get(name)}" for name in ("Accept", "Mcp-Session-Id", "X-Custom")]
            log(f"POST {body.get('method')} {' '.join(about)}")
            if "broken" in SWITCHES:
                return self.reply(500, b"oops", "text/plain")
            if wanted and self.headers.get("Authorization") != wanted:
                return self.reply(401, b"", WWW_Authenticate="Bearer")
            response = handle(body)
            if response is None:
                return self.reply(202)
            text = json.dumps(response).encode()
            if "events" in SWITCHES:
                first = b'data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"soon"}}\n\n'
                return self.reply(200, first + b"data: " + text + b"\n\n", "text/event-stream")
            self.reply(200, text, Mcp_Session_Id="sess-42")

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", int(SWITCHES.get("port") or 0)), Handler)
    with open(path + ".new", "w") as file:
        file.write(str(server.server_address[1]))
    os.rename(path + ".new", path)
    server.serve_forever()


log("started")
if "once" in SWITCHES:
    if os.path.exists(SWITCHES["once"]):
        print("cannot start a second time", file=sys.stderr)
        sys.exit(4)
    open(SWITCHES["once"], "w").close()
if "exit" in SWITCHES:
    print("fatal: missing API key", file=sys.stderr)
    sys.exit(int(SWITCHES["exit"]))
if "http" in SWITCHES:
    serve_http(SWITCHES["http"])
else:
    serve_stdio()
