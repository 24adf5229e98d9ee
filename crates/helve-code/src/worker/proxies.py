# Owns what a program sees of tools: `device.Server.tool(...)`, calls that go on while others are made, and the event loop
# that waits for answers on the one pipe there is.


class _Tool:
    __slots__ = ("_server", "_tool", "_head")

    def __init__(self, server, tool):
        self._server, self._tool = server, tool
        self._head = '"server":%s,"tool":%s,"args":' % (_quote(server), _quote(tool))

    # Tools may have an argument of any name, `self` among them.
    def __call__(self, /, *args, **kwargs):
        slot = _begin(self, args, kwargs)
        if not slot.done:
            _wait(slot)
        if slot.error is not None:
            raise slot.error
        return slot.value

    def __repr__(self):
        return "%s.%s" % (_spelled(self._server), self._tool)

    __name__ = property(lambda self: self._tool)

    @property
    def __doc__(self):
        return device.describe(self)


class _Server:
    def __init__(self, server):
        self._server = server

    # Asked once for each tool: from then on it is an attribute like any other.
    def __getattr__(self, tool):
        if tool.startswith("__") and tool.endswith("__"):
            raise AttributeError(tool)
        made = self.__dict__[tool] = _Tool(self._server, tool)
        return made

    def __getitem__(self, tool):
        return _Tool(self._server, str(tool))

    def __dir__(self):
        return _asked("names", '"server":' + _quote(self._server))

    def __repr__(self):
        return _spelled(self._server)


def _spelled(server):
    # A hub's server carries its place: `devices.hub.GithubMCP`.
    return server if server.startswith("devices.") else "device." + server


class _Device:
    def __getattr__(self, server):
        if server.startswith("__") and server.endswith("__"):
            raise AttributeError(server)
        made = self.__dict__[server] = _Server(server)
        return made

    def __getitem__(self, server):
        if str(server).startswith("devices."):
            raise ToolError("`device` is this machine: tools of a hub are devices.place.…", "SERVER_NOT_FOUND")
        return _Server(str(server))

    def __dir__(self):
        return _asked("names", '"server":null')

    def describe(self, name):
        """What a tool takes and does, as text."""
        return _asked("describe", '"name":' + _quote(name if isinstance(name, str) else repr(name)))

    def search(self, query, limit=5):
        return search_skills(query, limit)

    def __repr__(self):
        return "device"


class _Devices:
    __slots__ = ()
    local = _Device()

    def __getattr__(self, place):
        if place.startswith("__") and place.endswith("__"):
            raise AttributeError(place)
        return _Place(place)

    def __getitem__(self, place):
        return self.local if place == "local" else _Place(str(place))

    def __dir__(self):
        return ["local"] + _asked("names", '"server":"devices"')

    def __repr__(self):
        return "devices"


class _Place:
    """The servers of a hub."""
    __slots__ = ("_place",)

    def __init__(self, place):
        self._place = place

    def __getattr__(self, server):
        if server.startswith("__") and server.endswith("__"):
            raise AttributeError(server)
        return self[server]

    def __getitem__(self, server):
        return _Server("devices.%s.%s" % (self._place, server))

    def __dir__(self):
        return _asked("names", '"server":' + _quote("devices." + self._place))

    def __repr__(self):
        return "devices.%s" % self._place


device, devices = _Devices.local, _Devices()


def search_skills(query, limit=5):
    """The tools that fit some words, the best first: name, signature and description of each."""
    queries = [query] if isinstance(query, str) else list(query)
    words = ",".join(_quote(str(one)) for one in queries)
    return _asked("find", '"queries":[%s],"limit":%d' % (words, int(limit)))


def _asked(kind, members):
    slot = _ask(kind, members)
    _wait(slot)
    return _take(slot)


def _begin(tool, args, kwargs):
    if _printed:
        _flush()
    # What is seldom there is seldom written: the host takes its absence for empty.
    rest = texts = ""
    for name, value in kwargs.items():
        if type(value) in _PARSED:
            texts += _text_of(name, value)
    if args:
        rest = ',"positional":' + _encoded_argument(list(args))
        for index, value in enumerate(args):
            if type(value) in _PARSED:
                texts += _text_of(str(index), value)
    if texts:
        rest += ',"texts":{%s}' % texts[1:]
    encoded = _encoded_argument(kwargs)
    return _ask("call", tool._head + encoded + rest)


def _text_of(name, value):
    text = _remembered(value)
    return "" if text is None else ",%s:%s" % (_quote(name), _quote(text))


class _Later:
    """A call that is on its way. It can be awaited; used as a value, it waits."""

    __slots__ = ("_slot",)

    def __init__(self, slot):
        self._slot = slot

    def _now(self):
        if not self._slot.done:
            _wait(self._slot)
        return _take(self._slot)

    def __await__(self):
        slot = self._slot
        asyncio = sys.modules.get("asyncio")
        loop = asyncio._get_running_loop() if asyncio is not None else None
        if slot.done or loop is None:
            return self._now()
            yield
        if slot.future is None:
            slot.future, slot.thread = loop.create_future(), _thread.get_ident()
            with _state:
                done = slot.done
                slot.loop = loop
            if done:
                _settle(slot)
        _flush()
        try:
            return (yield from slot.future.__await__())
        except asyncio.CancelledError:
            # A second one may wait for the same answer; who gave up first speaks for the call.
            if not slot.done and _slots.pop(slot.number, None) is not None:
                slot.done, slot.error = True, ToolError("the call was cancelled", "CANCELLED")
                _send('{"cancel":{"id":%d}}\n' % slot.number)
            raise

    def __getattr__(self, name):
        return getattr(self._now(), name)

    def __hash__(self):
        return id(self)

    def __eq__(self, other):
        return other is self or self._now() == other

    def __iter__(self):
        return iter(self._now())


def _forward(name):
    def method(self, *args):
        return getattr(self._now(), name)(*args)

    method.__name__ = name
    return method


for _name in (
    "__getitem__ __setitem__ __delitem__ __len__ __contains__ __str__ __repr__ __format__ __lt__ __le__ __gt__ __ge__ "
    "__add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __floordiv__ __mod__ __neg__ __int__ __float__ __index__ "
    "__or__ __and__ __reversed__ __ne__"
).split():
    setattr(_Later, _name, _forward(_name))
_Later.__bool__ = lambda self: bool(self._now())


def _later(function, /, *args, **kwargs):
    """A call whose result is awaited: of a tool it is sent at once, of anything else it is what it is."""
    if type(function) is _Tool:
        return _Later(_begin(function, args, kwargs))
    return function(*args, **kwargs)


def _lazy(function):
    return lambda *args, **kwargs: _later(function, *args, **kwargs)


def _now(value):
    return value._now() if type(value) is _Later else value


class _Ready:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def __await__(self):
        return self.value
        yield


def _awaitable(value):
    """Models await plain values out of habit: then the value is what comes of it."""
    if hasattr(type(value), "__await__") or hasattr(value, "cr_await") or hasattr(value, "gi_frame"):
        return value
    return _Ready(value)


class _Return(BaseException):
    pass


def _return(value=None):
    raise _Return(value)


def _set_up_asyncio():
    import asyncio

    if hasattr(asyncio, "_helve"):
        return asyncio
    asyncio._helve = True
    from asyncio import base_events, events, selector_events, tasks
    import select

    waking = _thread.allocate_lock()
    waking.acquire()
    reader = []

    def read_on():
        global _reading
        while True:
            with _state:
                if not _reading:
                    _reading = True
                    break
                turn = _follow(_Slot())
            turn.acquire()
        while True:
            _deliver(_read_line())

    class Selector:
        def __init__(self):
            self._poll = select.poll()
            self._poll.register(0, select.POLLIN)

        def select(self, timeout=None):
            if reader or _thread._count():
                if not reader:
                    reader.append(_thread.start_new_thread(read_on, ()))
                if timeout is None:
                    waking.acquire()
                elif timeout > 0:
                    waking.acquire(True, min(timeout, 1e6))
                return []
            global _reading
            if not _lines:
                wait = None if timeout is None else max(0, int(timeout * 1000 + 0.999))
                if not self._poll.poll(wait):
                    return []
            with _state:
                if _reading:
                    return []
                _reading = True
            try:
                _deliver(_read_line())
                while _lines:
                    _deliver(_lines.pop())
            finally:
                _hand_over()
            return []

        def get_map(self):
            return {}

        def get_key(self, fd):
            raise KeyError(fd)

        def register(self, *_):
            raise OSError("a program has no files and no sockets to wait for")

        modify = register

        def unregister(self, fd):
            raise KeyError(fd)

        def close(self):
            pass

    async def value_of(value):
        return await _awaitable(value)

    def coroutine(value):
        if asyncio.iscoroutine(value) or asyncio.isfuture(value):
            return value
        return value_of(value)

    class Loop(selector_events.BaseSelectorEventLoop):
        def __init__(self):
            super().__init__(Selector())

        def _make_self_pipe(self):
            self._ssock = self._csock = None
            self._internal_fds += 1

        def _close_self_pipe(self):
            self._internal_fds -= 1

        def _write_to_self(self):
            try:
                waking.release()
            except RuntimeError:
                pass

        def create_task(self, value, **kwargs):
            return super().create_task(value if asyncio.iscoroutine(value) else value_of(value), **kwargs)

        def add_signal_handler(self, *_):
            raise NotImplementedError

    class Policy(events.BaseDefaultEventLoopPolicy if hasattr(events, "BaseDefaultEventLoopPolicy") else events._BaseDefaultEventLoopPolicy):
        _loop_factory = Loop

    getattr(asyncio, "set_event_loop_policy", getattr(events, "_set_event_loop_policy", None))(Policy())
    asyncio.SelectorEventLoop = Loop

    def wrap(name, change):
        original = getattr(tasks, name)

        def wrapped(*args, **kwargs):
            return original(*change(args), **kwargs)

        wrapped.__name__ = name
        setattr(tasks, name, wrapped)
        setattr(asyncio, name, wrapped)

    one = lambda args: (coroutine(args[0]),) + tuple(args[1:])
    several = lambda args: ([tasks.ensure_future(coroutine(item)) for item in args[0]],) + tuple(args[1:])
    wrap("ensure_future", one)
    wrap("gather", lambda args: tuple(coroutine(item) for item in args))
    wrap("wait_for", one)
    wrap("shield", one)
    wrap("wait", several)
    wrap("as_completed", several)

    original_run = asyncio.run

    def run(main, **kwargs):
        main = coroutine(main)
        if asyncio.isfuture(main):
            main = value_of(main)
        if asyncio._get_running_loop() is None:
            return original_run(main, **kwargs)
        box, finished = [], _thread.allocate_lock()
        finished.acquire()

        def work():
            try:
                box.append((original_run(main, **kwargs), None))
            except BaseException as error:
                box.append((None, error))
            finally:
                finished.release()

        _thread.start_new_thread(work, ())
        finished.acquire()
        value, error = box[0]
        if error is not None:
            raise error
        return value

    asyncio.run = run
    return asyncio


def _set_up_json():
    import json

    if hasattr(json, "_helve"):
        return
    json._helve = True
    loads, default = json.loads, json.JSONEncoder.default

    def tolerant_loads(value, *args, **kwargs):
        if value is None or isinstance(value, (dict, list, int, float)):
            return value
        return loads(value._now() if type(value) is _Later else value, *args, **kwargs)

    def tolerant_default(self, value):
        return value._now() if type(value) is _Later else default(self, value)

    json.loads, json.JSONEncoder.default = tolerant_loads, tolerant_default
