# Owns what is found out about an interpreter before anything runs in its sandbox: where it is, which files are its own, which
# modules programs may import. Run once for each interpreter, outside of the sandbox; it gets no program of anybody's.
import sys, os, json, marshal, base64

if sys.version_info < (3, 10):
    print(json.dumps({
        "executable": sys.executable, "version": list(sys.version_info[:3]), "stdlib": "", "entries": [], "libraries": [],
        "extensions": [], "modules": [], "worker": "",
    }))
    sys.exit()
request = json.loads(sys.stdin.read())
there = []
for name in request["modules"]:
    try:
        __import__(name)
        there.append(name)
    except ImportError:
        pass
for name in request["besides"]:
    try:
        __import__(name)
    except ImportError:
        pass
stdlib = os.path.dirname(os.path.realpath(os.__file__))
left_out = {
    "site-packages", "dist-packages", "test", "tests", "idlelib", "tkinter", "ensurepip", "lib2to3", "distutils", "ctypes",
    "turtledemo", "pydoc_data", "venv", "lib-dynload", "msilib", "unittest", "dbm", "sqlite3", "wsgiref", "curses",
}
entries = [
    os.path.join(stdlib, name)
    for name in sorted(os.listdir(stdlib))
    if name not in left_out and not name.startswith("config-") and (name.endswith(".py") or os.path.isdir(os.path.join(stdlib, name)))
]
libraries = set()
with open("/proc/self/maps") as maps:
    for line in maps:
        parts = line.split(None, 5)
        if len(parts) == 6 and parts[5].startswith("/"):
            libraries.add(parts[5].rstrip("\n"))
libraries = [path for path in sorted(libraries) if os.path.isfile(path) and "locale" not in path]
print(json.dumps({
    "executable": os.path.realpath(sys.executable),
    "version": list(sys.version_info[:3]),
    "stdlib": stdlib,
    "entries": entries,
    "libraries": libraries,
    "extensions": [path for path in (os.path.join(stdlib, "lib-dynload"),) if os.path.isdir(path)],
    "modules": there,
    "worker": base64.b64encode(marshal.dumps(compile(request["worker"], "<worker>", "exec", 0, True, 0))).decode(),
}))
