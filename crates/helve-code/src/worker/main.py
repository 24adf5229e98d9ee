# Owns the life of a worker: read a program, tell what it is going to do, wait for the word, run it as `__main__`, tell what
# came of it.

_FILE = "<program>"
_COROUTINE = 0x80
_TOP_LEVEL_AWAIT = 0x2000
_ONLY_TREE = 0x400


def _main():
    for name, value in (
        ("ToolError", ToolError), ("device", device), ("devices", devices), ("search_skills", search_skills),
        ("__helve_later__", _later), ("__helve_lazy__", _lazy), ("__helve_now__", _now), ("__helve_return__", _return),
        ("__helve_awaitable__", _awaitable), ("__helve_Return__", _Return),
    ):
        setattr(builtins, name, value)
    sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = _Output()
    sys.stdin = sys.__stdin__ = None
    try:
        _thread.stack_size(512 * 1024)
    except (ValueError, RuntimeError):
        pass
    module = type(sys)("__main__")
    module.__builtins__ = builtins
    sys.modules["__main__"] = module
    while True:
        start = _scan(_read_line().decode("utf-8"), 0)[0]
        if start.get("warm"):
            _warm(start["warm"])
            continue
        _run(start, module.__dict__)
        if not start.get("keep"):
            posix._exit(0)


def _warm(modules):
    """A spare has what most programs import, and waits."""
    for name in modules:
        try:
            __import__(name)
        except ImportError:
            pass
    _set_up_json()
    _set_up_asyncio()


def _run(start, names):
    global _printed_in_all, _print_limit
    _printed_in_all, _print_limit = 0, start.get("prints", 1 << 16)
    try:
        tree = compile(start["source"], _FILE, "exec", _ONLY_TREE | _TOP_LEVEL_AWAIT, True)
        reading = _Reading(tree)
        reading.finish()
    except SyntaxError as error:
        line = (error.text or "").strip()[:200]
        _tell("failed", {"type": type(error).__name__, "message": error.msg, "at": [[error.lineno or 0, ""]], "line": line})
        return
    except (ValueError, RecursionError, MemoryError) as error:
        _tell("failed", {"type": type(error).__name__, "message": "the program cannot be read: " + str(error), "at": []})
        return
    plan = {
        "calls": reading.calls[:1000], "imports": reading.imports[:200], "problems": reading.problems[:100],
        "nodes": reading.nodes,
    }
    _tell("plan", plan)
    if not _scan(_read_line().decode("utf-8"), 0)[0].get("go"):
        return
    try:
        try:
            _Rewriting(reading).apply()
            _make_returns(tree.body)
            _keep_last(tree)
            if any(module == "json" for _, module, _ in reading.imports):
                _set_up_json()
            if reading.needs_asyncio:
                _set_up_asyncio()
            code = compile(tree, _FILE, "exec", _TOP_LEVEL_AWAIT, True)
            del tree, reading
            names.pop("__helve_value__", None)
            made = eval(code, names)
            if code.co_flags & _COROUTINE:
                _drive(made)
        except (SystemExit, _Return) as error:
            if isinstance(error, _Return):
                names["__helve_value__"] = error.args[0]
                names.setdefault("result", None)
        value = names.get("__helve_value__")
        if value is None:
            value = names.get("result")
        for slot in list(_slots.values()):
            _wait(slot)
        notes, attachments = [], []
        plain = _plain(value, notes, attachments)
        text = _encode_argument(plain)
    except BaseException as error:
        _flush()
        _tell("failed", _failure(error))
        return
    _flush()
    _send('{"done":{"value":%s,"notes":%s,"attachments":%s,"printed":%d}}\n' % (
        text, _encode_argument(notes), _encode_argument(attachments), _printed_in_all
    ))


def _drive(coroutine):
    asyncio = sys.modules.get("asyncio")
    if asyncio is not None and hasattr(asyncio, "_helve"):
        return asyncio.run(coroutine)
    try:
        coroutine.send(None)
    except StopIteration:
        return None
    raise RuntimeError("something was awaited that needs asyncio: import it")


def _failure(error):
    at, trace = [], error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename == _FILE:
            at.append([trace.tb_lineno, "" if code.co_name == "<module>" else code.co_name])
        trace = trace.tb_next
    if isinstance(error, SyntaxError) and error.filename == _FILE:
        at = [[error.lineno or 0, ""]]
    try:
        message = str(error)
    except Exception:
        message = ""
    if isinstance(error, KeyError):
        message = "no key " + message
    told = {"type": type(error).__name__, "message": message[:4000], "at": at[-20:]}
    if isinstance(error, ToolError):
        told["code"] = str(error.code)
    group = getattr(error, "exceptions", None)
    if group:
        told["message"] += ": " + "; ".join("%s: %s" % (type(one).__name__, one) for one in group[:5])[:2000]
    return told


def _tell(kind, value):
    _send('{"%s":%s}\n' % (kind, _encoded_argument(value)))


_main()
