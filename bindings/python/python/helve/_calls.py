"""What both hosts have in common: how a call is started, what callbacks are asked, what becomes of their answers.

The two differ in one thing alone, how they wait: `helve.Host` in the caller's event loop, `helve.sync.Host` in the caller's thread.
"""

from __future__ import annotations

import contextvars
import json
import os
import weakref

from . import _helve
from ._errors import ConfigError, InvalidParams, ServerUnavailable, of_code
from ._types import (
    Answer,
    ApprovalRequest,
    CallRecord,
    ElicitationRequest,
    Listing,
    LogLine,
    ProgramCall,
    ProgramResult,
    Progress,
    SamplingRequest,
    ServerStatus,
    WatchEvent,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, TypeAlias, TypeVar, overload

    #: Starts work whose answer goes to a mailbox; gives its ticket.
    Start: TypeAlias = "Callable[[_helve.Mailbox, Any], int]"
    #: Begins a watch; its answer is the watch's name and what was seen first.
    Begin: TypeAlias = "Callable[[_helve.Watch, _helve.Mailbox, Any], int]"
    Function = TypeVar("Function", bound=Callable[..., Any])
    Path: TypeAlias = "str | os.PathLike[str]"

#: The call that the running skill serves.
_parent: contextvars.ContextVar[_helve.Parent | None] = contextvars.ContextVar("helve_parent", default=None)


def _unknown(value: object) -> Any:
    from ._schema import plain

    return plain(value)


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_unknown).encode


def _written(arguments: Any, keywords: Mapping[str, Any]) -> str:
    """Arguments as JSON. A text is taken as it is: models write it."""
    if isinstance(arguments, str):
        if keywords:
            raise TypeError("give the arguments as JSON, as a mapping or by name")
        return arguments
    if arguments is None:
        arguments = keywords
    elif keywords:
        raise TypeError("give the arguments as a mapping or by name, not both")
    try:
        return _encode(arguments)
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidParams(f"the arguments cannot be written as JSON: {error}") from error


class Calls:
    """How a view of a host starts calls; each subclass waits in its own way."""

    _host: Base
    _own_view: _helve.View | None = None
    _on_progress: Callable[[Progress], Any] | None = None

    def _view(self) -> _helve.View:
        # What was made of a host ends with it.
        self._host._running()
        if self._own_view is None:
            raise ServerUnavailable("the host is not running", hints=["use `with` or `async with`, or start() it"])
        return self._own_view

    def _start_call(self, manner: str, name: str, arguments: Any, keywords: Mapping[str, Any]) -> Start:
        view, parent, told = self._view(), _parent.get(), self._progress()
        written = _written(arguments, keywords)
        return lambda mailbox, future: view.call(mailbox, future, manner, name, written, parent, told)

    def _progress(self) -> Callable[[float, float | None, str | None], None] | None:
        callback, host = self._on_progress, self._host
        if callback is None:
            return None

        def told(progress: float, total: float | None, message: str | None) -> None:
            host._run_told(callback, Progress(progress=progress, total=total, message=message))

        return told

    def _start_run(self, source: str) -> Start:
        view, parent, told = self._view(), _parent.get(), self._progress()
        return lambda mailbox, future: view.run(mailbox, future, source, parent, told)

    def _start_read(self, server: str, uri: str) -> Start:
        view, parent = self._view(), _parent.get()
        return lambda mailbox, future: view.read_resource(mailbox, future, server, uri, parent)

    def _start_prompt(self, server: str, name: str, arguments: Any, provider: str) -> Start:
        view, parent, written = self._view(), _parent.get(), _written(arguments, {})
        return lambda mailbox, future: view.get_prompt(mailbox, future, server, name, written, provider, parent)

    def tools(self, provider: str = "mcp") -> list[dict[str, Any]]:
        """The tools as they are now, for a model: `anthropic`, `openai`, `openai-responses`, `gemini` or `mcp`. Does not wait."""
        tools, _clashes = self._view().tools(provider)
        return tools

    def names(self) -> list[str]:
        """The tools as they are now, as `server/tool`. Does not wait."""
        return self._view().names()

    def search(self, query: str, *, limit: int = 10, server: str | None = None) -> list[dict[str, str]]:
        """The tools that fit these words, the best first: `name` (which every call takes), `signature` and `description`. Does not wait."""
        if limit < 0:
            raise ValueError("a limit is not negative")
        return self._view().search(query, limit, server)

    def system_prompt(self, *, budget: int | None = None) -> str:
        """The part of a system prompt that is about these tools: each server with what it says about itself, and its tools with their
        signatures. Shortened to fit `budget` tokens. Does not wait.
        """
        return self._view().system_prompt(budget)

    def _narrowed(self, only: Iterable[str] | None, without: Iterable[str]) -> _helve.View:
        for globs in (only, without):
            if isinstance(globs, str):
                raise TypeError("give a list of names, not one text")
        return self._view().narrow(None if only is None else list(only), list(without))

    def _used(self, timeout: float | None, total: float | None, meta: Mapping[str, Any] | None, uncut: bool | None) -> _helve.View:
        return self._view().using(timeout, total, None if meta is None else _encode(meta), uncut)

    def _copy_to(self, other: Calls, view: _helve.View, on_progress: Callable[[Progress], Any] | None) -> None:
        other._host, other._own_view = self._host, view
        other._on_progress = on_progress or self._on_progress


class Base(Calls):
    """A host, started or not: what it is made of, its callbacks and its functions."""

    def __init__(
        self,
        config: Path | Sequence[Path] | None = None,
        *,
        servers: Mapping[str, Any] | None = None,
        rules: Sequence[Mapping[str, Any]] | None = None,
        settings: Mapping[str, Any] | None = None,
        empty: bool = False,
        dialect: str | None = None,
        directory: Path | None = None,
        approve: Callable[[ApprovalRequest], Any] | None = None,
        elicit: Callable[[ElicitationRequest], Any] | None = None,
        sample: Callable[[SamplingRequest], Any] | None = None,
        on_log: Callable[[LogLine], Any] | None = None,
        on_record: Callable[[CallRecord], Any] | None = None,
        program: Path | None = None,
    ) -> None:
        """The configuration that the person already has; or instead of it these files (`config`), these servers (`servers`, as in an
        `.mcp.json` or a `helve.toml`), or none (`empty`). `rules` and `settings` are those of a `helve.toml`.

        `approve` decides what no rule decides; without it such calls raise `ApprovalRequired`. `elicit` answers what servers ask a
        person, `sample` lends them a model. Callbacks may be plain functions or coroutine functions.
        """
        if config is None:
            files: list[str] = []
        elif isinstance(config, (str, os.PathLike)):
            files = [os.fspath(config)]
        else:
            files = [os.fspath(file) for file in config]
        if empty and (files or servers is not None):
            raise TypeError("an empty host has no configuration and no servers: leave `empty` out")
        document: dict[str, Any] = {}
        for key, value in (("servers", servers), ("rules", rules), ("settings", settings)):
            if value is not None:
                document[key] = value
        self._options = {
            "config": files,
            "dialect": dialect,
            "document": _document(document) if document else None,
            "alone": empty or bool(files) or servers is not None,
            "empty": empty or (servers is not None and not servers and not files),
            "directory": None if directory is None else os.fspath(directory),
            "approve": approve is not None,
            "elicit": elicit is not None,
            "sample": sample is not None,
            "log": on_log is not None,
            "record": on_record is not None,
        }
        self._program = None if program is None else os.fspath(program)
        self._approve, self._elicit, self._sample = approve, elicit, sample
        self._on_log, self._on_record = on_log, on_record
        self._host = self
        self._core: _helve.Core | None = None
        self._is_starting = False
        self._skills: dict[str, tuple[Any, Callable[..., Any], str]] = {}
        self._asking: dict[int, Any] = {}

    # Starting and ending

    def _start_open(self) -> Start:
        if self._core is not None or self._is_starting:
            raise ServerUnavailable("a host is started once: make another one")
        self._is_starting = True
        program = self._program
        if program is None:
            from . import _program

            program = _program.path()
        options = json.dumps({**self._options, "program": program})
        host = weakref.ref(self)
        return lambda mailbox, future: _helve.open(mailbox, future, host, options)

    def _opened(self, core: _helve.Core) -> None:
        self._core = core
        self._own_view = core.view()
        for _parameters, _function, definition in self._skills.values():
            core.add_skill(definition)
        _open_hosts.add(self)
        _close_at_exit()

    def _running(self) -> _helve.Core:
        if self._core is None:
            raise ServerUnavailable("the host is not running", hints=["use `with` or `async with`, or start() it"])
        if self._core.is_closed:
            # It says itself why: it is closed, or of another process.
            self._core.view()
        return self._core

    def _start_close(self) -> Start:
        _open_hosts.discard(self)
        return self._running().close

    def _start_ready(self, server: str | None, timeout: float) -> Start:
        core = self._running()
        return lambda mailbox, future: core.ready(mailbox, future, server, timeout)

    def _start_offers(self, kind: str, server: str | None) -> Start:
        core = self._running()
        return lambda mailbox, future: core.offers(mailbox, future, kind, server)

    def _start_add(self, name: str, server: Mapping[str, Any]) -> Start:
        core, document = self._running(), _document({"servers": {name: server}})
        return lambda mailbox, future: core.add_servers(mailbox, future, document)

    def _start_remove(self, name: str) -> Start:
        core = self._running()
        return lambda mailbox, future: core.remove_server(mailbox, future, name)

    def _start_reconnect(self, name: str) -> Start:
        core = self._running()
        return lambda mailbox, future: core.reconnect_server(mailbox, future, name)

    def _subscribing(self, server: str, uri: str, reason: str) -> Begin:
        return lambda watch, mailbox, future: watch.subscribe(mailbox, future, server, uri, reason)

    def _polling(self, name: str, arguments: Mapping[str, Any] | None, every: float, reason: str) -> Begin:
        written = _written(arguments, {})
        return lambda watch, mailbox, future: watch.poll_tool(mailbox, future, name, written, every, reason)

    def _rereading(self, server: str, uri: str, every: float, reason: str) -> Begin:
        return lambda watch, mailbox, future: watch.poll_resource(mailbox, future, server, uri, every, reason)

    def servers(self) -> list[ServerStatus]:
        """How every server is doing, sorted by name. Does not wait."""
        return [ServerStatus(**report) for report in self._running().servers()]

    def enable(self, server: str) -> None:
        """Puts a server's tools back into the catalog, as soon as it is connected: `ready(server)` waits for that."""
        self._running().toggle(server, True)

    def disable(self, server: str) -> None:
        """Takes a server's tools out of the catalog. Its process lives on meanwhile."""
        self._running().toggle(server, False)

    @property
    def is_running(self) -> bool:
        """True from its start to its end."""
        return self._core is not None and not self._core.is_closed

    def __repr__(self) -> str:
        if self._core is None:
            return f"<{type(self).__module__}.{type(self).__qualname__}, not started>"
        if self._core.is_closed:
            return f"<{type(self).__module__}.{type(self).__qualname__}, closed>"
        count = len(self._core.servers())
        return f"<{type(self).__module__}.{type(self).__qualname__} of {count} server{'' if count == 1 else 's'}>"

    # Functions as tools

    if TYPE_CHECKING:

        @overload
        def skill(self, function: Function, /) -> Function: ...
        @overload
        def skill(
            self,
            /,
            *,
            name: str | None = None,
            description: str | None = None,
            title: str | None = None,
            read_only: bool | None = None,
            destructive: bool | None = None,
            idempotent: bool | None = None,
            open_world: bool | None = None,
        ) -> Callable[[Function], Function]: ...

    def skill(
        self,
        function: Any = None,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        title: str | None = None,
        read_only: bool | None = None,
        destructive: bool | None = None,
        idempotent: bool | None = None,
        open_world: bool | None = None,
    ) -> Any:
        """Makes a function a tool, before or while the host runs: its name, docstring and annotations say what it is. It runs in the host's
        event loop, or in the thread that waits for a call, under the same rules as every tool; one that changes nothing says so with `read_only=True`.
        """
        annotations = {
            "title": title,
            "readOnlyHint": read_only,
            "destructiveHint": destructive,
            "idempotentHint": idempotent,
            "openWorldHint": open_world,
        }

        def add(function: Any) -> Any:
            self._add_skill(function, name, description, annotations)
            return function

        return add if function is None else add(function)

    def _add_skill(
        self,
        function: Callable[..., Any],
        name: str | None,
        description: str | None,
        annotations: dict[str, Any],
    ) -> None:
        from . import _schema

        parameters = _schema.Parameters(function)
        name = name or getattr(function, "__name__", "")
        if not name or name == "<lambda>":
            raise TypeError("a function without a name needs one: skill(name=...)")
        definition = _encode(
            {
                "name": name,
                "description": description or _schema.description(function),
                "inputSchema": parameters.schema,
                "annotations": {key: value for key, value in annotations.items() if value is not None},
            }
        )
        if self._core is not None:
            self._core.add_skill(definition)
        self._skills[name] = (parameters, function, definition)

    # What the host asks, and what it tells

    def _asked(self, kind: str, number: int, payload: Any, responder: _helve.Responder) -> None:
        """A question, in the thread that this host's calls are made in. Whatever goes wrong is a no."""
        context = contextvars.copy_context()
        try:
            result = context.run(self._answer, kind, payload)
        except Exception as error:
            self._failed(kind, error, responder)
            return
        if hasattr(result, "__await__"):
            self._await_answer(kind, number, result, responder, context)
        else:
            self._reply(kind, result, responder)

    def _await_answer(
        self, kind: str, number: int, result: Any, responder: _helve.Responder, context: contextvars.Context
    ) -> None:
        raise NotImplementedError

    def _answer(self, kind: str, payload: Any) -> Any:
        if kind == "skill":
            name, arguments, parent = payload
            parameters, function, _definition = self._skills[name]
            _parent.set(parent)
            return function(**parameters.make(arguments))
        if kind == "approve" and self._approve is not None:
            return self._approve(ApprovalRequest(**payload))
        if kind == "elicit" and self._elicit is not None:
            return self._elicit(ElicitationRequest(**payload))
        if kind == "sample" and self._sample is not None:
            return self._sample(SamplingRequest(**payload))
        return None

    def _reply(self, kind: str, result: Any, responder: _helve.Responder) -> None:
        try:
            responder.send(_replies[kind](result))
        except Exception as error:
            self._failed(kind, error, responder)

    def _failed(self, kind: str, error: BaseException, responder: _helve.Responder) -> None:
        if kind != "skill":
            import logging

            logging.getLogger("helve").error("the callback `%s` failed, which counts as a no", kind, exc_info=error)
        words = str(error)
        if not words or isinstance(error, KeyError):
            # The text of a KeyError is the key alone, which tells nobody what is wrong.
            words = f"{type(error).__name__}: {words}".removesuffix(": ")
        responder.fail(words)

    def _withdrawn(self, number: int) -> None:
        """Nobody waits for this answer any more."""

    def _told(self, kind: str, payload: Any) -> None:
        if kind == "log" and self._on_log is not None:
            self._run_told(self._on_log, LogLine(**payload))
        elif kind == "record" and self._on_record is not None:
            self._run_told(self._on_record, CallRecord(**payload))
        elif kind == "warning":
            import logging

            logging.getLogger("helve").warning("%s", payload)

    def _run_told(self, callback: Callable[[Any], Any], news: Any) -> None:
        raise NotImplementedError


def _document(document: dict[str, Any]) -> str:
    """What a program says, in the form of a `helve.toml`."""
    return "".join(f"{key} = {_toml(value, key)}\n" for key, value in document.items())


def _toml(value: Any, place: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # The same but for one character, which TOML wants escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, (int, float)):
        return repr(value)
    if hasattr(value, "__fspath__"):
        return _toml(os.fspath(value), place)
    if hasattr(value, "items"):
        members = (f"{_toml(str(key), place)} = {_toml(member, f'{place}.{key}')}" for key, member in value.items())
        return "{" + ", ".join(members) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(item, f"{place}[{index}]") for index, item in enumerate(value)) + "]"
    raise ConfigError(f"`{place}` is {value!r}, which no configuration can hold")


def _approval(result: Any) -> str:
    if result is True:
        return "once"
    return str(result.value) if isinstance(result, Answer) else "no"


def _elicited(result: Any) -> str:
    if result is True:
        return "accept"
    if result is None or result is False or result == "decline":
        return "decline"
    return "cancel" if isinstance(result, str) else _encode(result)


def _sampled(result: Any) -> str:
    if isinstance(result, str):
        content = {"type": "text", "text": result}
        return _encode({"role": "assistant", "content": content, "model": "unknown", "stopReason": "endTurn"})
    if result is None:
        raise ValueError("the model did not answer")
    return _encode(result)


def _outcome(result: Any) -> str:
    if isinstance(result, _helve.Result):
        return result.to_json()
    if result is None:
        result = "done"
    if isinstance(result, str):
        return _encode({"content": [{"type": "text", "text": result}]})
    written = _encode(result)
    return '{"content":[' + _encode({"type": "text", "text": written}) + '],"structuredContent":' + written + "}"


_replies: dict[str, Callable[[Any], str]] = {
    "approve": _approval,
    "elicit": _elicited,
    "sample": _sampled,
    "skill": _outcome,
}


def _listing(offers: tuple[list[tuple[str, dict[str, Any]]], list[Exception], list[str]]) -> Listing:
    items, errors, warnings = offers
    return Listing(({"server": server, **item} for server, item in items), errors, warnings)


def _program_result(told: dict[str, Any]) -> ProgramResult:
    error = told.pop("error")
    calls = [ProgramCall(**call) for call in told.pop("calls")]
    return ProgramResult(calls=calls, error=error and of_code(error["code"], error["message"]), **told)


def _event(told: dict[str, Any]) -> WatchEvent:
    return WatchEvent(content_bytes=told.pop("contentBytes", None), **told)


#: Hosts that run: the interpreter ends them before it ends itself.
_open_hosts: weakref.WeakSet[Base] = weakref.WeakSet()
_closes_at_exit = False


def _close_at_exit() -> None:
    global _closes_at_exit
    if not _closes_at_exit:
        import atexit

        atexit.register(_close_all)
        _closes_at_exit = True


def _close_all() -> None:
    for host in list(_open_hosts):
        if host._core is not None:
            host._core.close_now()
