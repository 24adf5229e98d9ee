# An agent in few words for the seeds: mcp.py [--answer=JSON] -- COMMAND... < REQUESTS
# Each line of REQUESTS is a method and its parameters in JSON, or `wait SECONDS`; each answer is a line of JSON on stdout, and so is
# what the server asks or tells (`asked MESSAGE`, `told METHOD`). With --answer it can be asked, and accepts with that content.
import json
import queue
import subprocess
import sys
import threading
import time

PATIENCE = 60
split = sys.argv.index("--")
answer = next((word.partition("=")[2] for word in sys.argv[1:split] if word.startswith("--answer=")), None)
server = subprocess.Popen(sys.argv[split + 1 :], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
answers = queue.Queue()


def send(message):
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    server.stdin.flush()


def listen():
    for line in server.stdout:
        message = json.loads(line)
        if "method" not in message:
            answers.put(message)
        elif message["method"] == "elicitation/create":
            print("asked", message["params"]["message"].replace("\n", " / "), flush=True)
            send({"id": message["id"], "result": {"action": "accept", "content": json.loads(answer)}})
        elif "id" in message:
            send({"id": message["id"], "error": {"code": -32601, "message": "not here"}})
        else:
            print("told", message["method"], json.dumps(message.get("params")), flush=True)
    answers.put(None)


threading.Thread(target=listen, daemon=True).start()


def ask(method, params):
    send({"id": 1, "method": method, "params": params})
    message = answers.get(timeout=PATIENCE)
    return {"gone": True} if message is None else message.get("result", message.get("error"))


capabilities = {"elicitation": {}} if answer else {}
about = {"name": "seeds", "version": "1"}
ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": about})
send({"method": "notifications/initialized"})
for line in sys.stdin:
    method, _, params = line.strip().partition(" ")
    if method == "wait":
        time.sleep(float(params))
    elif method:
        print(json.dumps(ask(method, json.loads(params or "{}"))), flush=True)
server.stdin.close()
server.wait(PATIENCE)
