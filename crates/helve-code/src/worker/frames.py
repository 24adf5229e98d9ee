# Owns the worker's side of the pipes: one JSON value per line, answers handed to whoever waits for them, from any thread.
# Nothing here can be trusted by the host; it only has to be right.
import sys
import posix
import time
import builtins
import _thread

try:
    import _json

    class _Scanning:
        strict = False
        object_hook = object_pairs_hook = None
        parse_float = float
        parse_int = int
        memo = {}

        @staticmethod
        def parse_constant(name):
            raise ValueError(name)

    _scan = _json.make_scanner(_Scanning)
    _quote = _json.encode_basestring

    def _make_encoder(default, allow_nan):
        encode, join = _json.make_encoder({}, default, _quote, None, ":", ",", False, False, allow_nan), "".join
        return lambda value: join(encode(value, 0))

except (ImportError, AttributeError):
    import json as _slow_json

    _scan = _slow_json.JSONDecoder(strict=False).scan_once
    _quote = lambda text: _slow_json.dumps(text, ensure_ascii=False)

    def _make_encoder(default, allow_nan):
        return _slow_json.JSONEncoder(
            default=default, allow_nan=allow_nan, ensure_ascii=False, separators=(",", ":")
        ).encode


class ToolError(Exception):
    """A tool call that did not work: `str(error)` is the message, `.code` what kind of failure it is."""

    def __init__(self, message="", code="TOOL_ERROR", server=None, tool=None, data=None):
        super().__init__(message)
        self.code, self.server, self.tool, self.data = code, server, tool, data


ToolError.__module__ = "builtins"


class _ParsedDict(dict):
    __slots__ = ("_helve_text",)


class _ParsedList(list):
    __slots__ = ("_helve_text",)


_ParsedDict.__name__ = _ParsedDict.__qualname__ = "dict"
_ParsedList.__name__ = _ParsedList.__qualname__ = "list"
_ParsedDict.__module__ = _ParsedList.__module__ = "builtins"
_PARSED = (_ParsedDict, _ParsedList)


class Attachment:
    """An image, a sound or a file that a tool gave: it can be returned, and is then part of the program's result."""

    __slots__ = ("_number", "mime_type", "size")

    def __init__(self, number, mime_type, size):
        self._number, self.mime_type, self.size = number, mime_type, size

    def __repr__(self):
        return "<%s, %d bytes>" % (self.mime_type, self.size)


class _Slot:
    """A question that is open, or its answer. What is the same for most of them stands in the class: there are many."""

    done = False
    value = error = wake = future = loop = thread = None


_slots = {}
_next_number = 0
_buffer = b""
_writing = _thread.allocate_lock()
_state = _thread.allocate_lock()
_reading = False
_followers = []
_lines = []


def _send(text):
    with _writing:
        _write(text)


def _write(text):
    """Whoever calls this holds the lock."""
    data = text.encode("utf-8", "replace")
    # A pipe takes a small message whole.
    while (written := posix.write(1, data)) < len(data):
        data = data[written:]


def _ask(kind, members):
    """Sends a question, and gives the slot that its answer will be in."""
    global _next_number
    slot = _Slot()
    with _writing:
        slot.number = _next_number = _next_number + 1
        _slots[_next_number] = slot
        _write('{"%s":{"id":%d,%s}}\n' % (kind, _next_number, members))
    return slot


def _read_line():
    """The next line from the host. Whoever calls this is the only reader."""
    global _buffer
    if _lines:
        return _lines.pop()
    chunks = [_buffer] if _buffer else []
    while True:
        data = posix.read(0, 1 << 16)
        if not data:
            posix._exit(0)
        end = data.rfind(b"\n")
        if end < 0:
            chunks.append(data)
            continue
        _buffer = data[end + 1:]
        if not chunks and data.find(b"\n") == end:
            return data[:end]
        chunks.append(data[:end])
        _lines.extend(reversed(b"".join(chunks).split(b"\n")))
        return _lines.pop()


def _deliver(line):
    frame = _scan(line.decode("utf-8"), 0)[0]
    slot = _slots.pop(frame.get("id"), None)
    if slot is None:
        return
    error = frame.get("error")
    if error is not None:
        slot.error = ToolError(
            error["message"], error["code"], error.get("server"), error.get("tool"), error.get("data")
        )
    elif "ok" in frame:
        slot.value = frame["ok"]
    elif "text" in frame:
        text = frame["text"]
        slot.value = _parsed(text) if frame.get("json") else text
    else:
        parts = [part if isinstance(part, str) else Attachment(*part) for part in frame["parts"]]
        slot.value = parts[0] if len(parts) == 1 else parts
    with _state:
        slot.done = True
        # Taken away: whoever is handed the reading may not have woken yet, and a lock is released once.
        wake, slot.wake = slot.wake, None
        loop = slot.loop
    if wake is not None:
        wake.release()
    if loop is not None:
        if slot.thread == _thread.get_ident():
            _settle(slot)
        else:
            try:
                loop.call_soon_threadsafe(_settle, slot)
            except RuntimeError:
                pass


def _settle(slot):
    future = slot.future
    if future is not None and not future.done():
        if slot.error is not None:
            future.set_exception(slot.error)
        else:
            future.set_result(slot.value)


def _parsed(text):
    """Text that is one JSON value as a whole is that value, and remembers the text."""
    trimmed = text.strip()
    try:
        value, end = _scan(trimmed, 0)
    except (ValueError, StopIteration, RecursionError, SystemError):
        # The last: where the module json was not imported, its scanner has no error to raise.
        return text
    if end != len(trimmed):
        return text
    if isinstance(value, dict):
        value = _ParsedDict(value)
    elif isinstance(value, list):
        value = _ParsedList(value)
    else:
        return text
    value._helve_text = text
    return value


def _remembered(value):
    """The text that a value was parsed from, if it still is that value."""
    if type(value) in _PARSED:
        text = getattr(value, "_helve_text", None)
        if text is not None and _parsed(text) == value:
            return text
    return None


def _wait(slot):
    """Blocks this thread until the slot has its answer. One of the waiting threads reads for all of them."""
    global _reading
    if _printed:
        _flush()
    while True:
        with _state:
            if slot.done:
                return
            leads = not _reading
            if leads:
                _reading = True
            else:
                wake = _follow(slot)
        if not leads:
            wake.acquire()
            continue
        try:
            while not slot.done:
                _deliver(_read_line())
        finally:
            _hand_over()
        return


def _follow(slot):
    """What is released when this slot has its answer, or when it is its turn to read. Whoever calls this holds the lock."""
    wake = slot.wake = _thread.allocate_lock()
    wake.acquire()
    _followers.append(slot)
    return wake


def _hand_over():
    global _reading
    with _state:
        _reading = False
        while _followers:
            follower = _followers.pop()
            if not follower.done:
                wake, follower.wake = follower.wake, None
                wake.release()
                return


def _take(slot):
    if slot.error is not None:
        raise slot.error
    return slot.value


# Values on their way out.


def _iso(value):
    kind = type(value)
    if kind.__module__ == "datetime" and hasattr(value, "isoformat"):
        return value.isoformat()
    return None


def _argument_default(value):
    if isinstance(value, (set, frozenset)):
        return list(value)
    if isinstance(value, _Later):
        return value._now()
    text = _iso(value)
    if text is None and hasattr(value, "__fspath__"):
        text = value.__fspath__()
    if text is None:
        raise TypeError("%r cannot be passed to a tool: pass plain values" % type(value).__name__)
    return text


_encode_argument = _make_encoder(_argument_default, False)


def _encoded_argument(value):
    try:
        return _encode_argument(value)
    except (ValueError, TypeError):
        return _encode_argument(_plain(value, None, None))


def _plain(value, notes, attachments, depth=0):
    """A value as JSON has it. What JSON has no word for is noted, or an error where there are no notes."""
    if value is None or value is True or value is False:
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if value - value == 0 else None
    if depth > 200:
        raise ValueError("the value is nested too deeply")
    if isinstance(value, dict):
        return {
            key if type(key) is str else str(key): _plain(item, notes, attachments, depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item, notes, attachments, depth + 1) for item in value]
    if isinstance(value, _Later):
        return _plain(value._now(), notes, attachments, depth + 1)
    if isinstance(value, Attachment) and attachments is not None:
        attachments.append(value._number)
        return repr(value)
    if notes is None:
        return _argument_default(value)
    text = _iso(value)
    if text is None:
        text = repr(value)[:10000]
        name = type(value).__name__
        if name not in notes:
            notes.append(name)
    return text


# What is printed.

_printed = []
_printed_size = 0
_printed_in_all = 0
_last_flush = 0.0
_print_limit = 1 << 16


class _Output:
    encoding, errors, newlines, closed = "utf-8", "replace", None, False
    name = "<stdout>"

    def write(self, text):
        global _printed_size, _printed_in_all
        if not isinstance(text, str):
            raise TypeError("write() argument must be str, not %s" % type(text).__name__)
        _printed_in_all += len(text)
        if _printed_in_all <= _print_limit or _printed_in_all - len(text) < _print_limit:
            _printed.append(text)
            _printed_size += len(text)
        if _printed_size > 4096 or (text.endswith("\n") and time.monotonic() - _last_flush > 0.05):
            _flush()
        return len(text)

    def writelines(self, lines):
        for line in lines:
            self.write(line)

    def flush(self):
        _flush()

    def isatty(self):
        return False

    def writable(self):
        return True

    def readable(self):
        return False

    def fileno(self):
        raise OSError("a program's output has no file descriptor")


def _flush():
    global _printed_size, _last_flush
    if not _printed:
        return
    text = "".join(_printed)
    _printed.clear()
    _printed_size = 0
    _last_flush = time.monotonic()
    _send('{"print":%s}\n' % _quote(text[:_print_limit]))
