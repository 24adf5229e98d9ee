"""The host for programs with an event loop."""

from __future__ import annotations

import weakref

from . import _helve
from ._calls import Base, Calls, _event, _listing, _program_result

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    import contextvars
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping
    from types import TracebackType
    from typing import Any

    from ._calls import Begin, Start
    from ._types import Listing, ProgramResult, Progress, WatchEvent

_mailboxes: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _helve.Mailbox] = weakref.WeakKeyDictionary()
#: A child is told by now that the mailboxes are not its own; the interpreter keeps what it was told for good, so it is told once.
_forgets_parent = False
#: What a parent process left: nothing of it may be touched, not even to drop it.
_inherited: list[object] = []


def _forget_parent() -> None:
    global _mailboxes
    _inherited.append(_mailboxes)
    _mailboxes = weakref.WeakKeyDictionary()


def _mailbox(loop: asyncio.AbstractEventLoop) -> _helve.Mailbox:
    global _forgets_parent
    mailbox = _mailboxes.get(loop)
    if mailbox is None:
        import os

        if not _forgets_parent:
            _forgets_parent = True
            os.register_at_fork(after_in_child=_forget_parent)
        mailbox = _helve.Mailbox(True)
        loop.add_reader(mailbox.fileno(), mailbox.drain)
        _mailboxes[loop] = mailbox
    return mailbox


async def _run(start: Start) -> Any:
    """Waits in the running loop. Cancelling the task cancels the work, and whoever does it is told."""
    from asyncio import get_running_loop

    loop = get_running_loop()
    mailbox = _mailbox(loop)
    future = loop.create_future()
    ticket = start(mailbox, future)
    try:
        return await future
    except BaseException:
        mailbox.cancel(ticket)
        raise


class Tools(Calls):
    """What one caller sees of a host, and how it calls: made by `Host.scope` and `using`."""

    async def call(self, name: str, arguments: Mapping[str, Any] | None = None, /, **keywords: Any) -> _helve.Result:
        """Calls a tool, named in any spelling, with arguments as a mapping or by name; gives the whole result.

        A tool that says that it failed is a result (`is_error`); everything else that goes wrong raises an `Error`.
        """
        result: _helve.Result = await _run(self._start_call("call", name, arguments, keywords))
        return result

    async def tool(self, name: str, arguments: Mapping[str, Any] | None = None, /, **keywords: Any) -> Any:
        """Calls a tool and gives what it answered: the structured value, or the text. Raises `ToolError` where the tool failed."""
        return await _run(self._start_call("value", name, arguments, keywords))

    async def execute(self, name: str, input: Mapping[str, Any] | str | None = None, /) -> _helve.Result:
        """Runs what a model asked for, and answers the model: whatever goes wrong is a result with `is_error`, in words that name no
        rule, no file and nothing that is the person's. `input` may be JSON, as some providers hand it out.
        """
        result: _helve.Result = await _run(self._start_call("model", name, input, {}))
        return result

    async def run(self, source: str) -> ProgramResult:
        """Runs a Python program that a model wrote, in which every tool is a function: `device.GithubMCP.create_issue(...)`. It runs confined,
        and its calls are decided as every call of an agent.

        A program that fails is a result with an `error`; `ConfigError` says why programs cannot be run here. `helve/run_code` is among
        the host's tools from the first run on.
        """
        return _program_result(await _run(self._start_run(source)))

    async def read_resource(self, server: str, uri: str) -> list[dict[str, Any]]:
        """Reads a resource: its contents, as the server sent them."""
        read = await _run(self._start_read(server, uri))
        contents: list[dict[str, Any]] = read["contents"]
        return contents

    async def get_prompt(
        self, server: str, name: str, arguments: Mapping[str, str] | None = None, *, provider: str = "anthropic"
    ) -> dict[str, Any]:
        """Gets a prompt: its `description`, and its `messages` as the provider takes them."""
        prompt: dict[str, Any] = await _run(self._start_prompt(server, name, arguments, provider))
        return prompt

    def scope(self, only: Iterable[str] | None = None, without: Iterable[str] = ()) -> Tools:
        """Fewer tools, for a sub-agent: only these, and not those. Nothing made from it has more than it has."""
        narrowed = Tools()
        self._copy_to(narrowed, self._narrowed(only, without), None)
        return narrowed

    def using(
        self,
        *,
        timeout: float | None = None,
        total: float | None = None,
        meta: Mapping[str, Any] | None = None,
        uncut: bool | None = None,
        on_progress: Callable[[Progress], Any] | None = None,
    ) -> Tools:
        """The same tools, called otherwise: `timeout` seconds without answer or progress, `total` seconds in all, `meta` for the server,
        `uncut` for results of any size, `on_progress` for how far a call has come.
        """
        used = Tools()
        self._copy_to(used, self._used(timeout, total, meta, uncut), on_progress)
        return used

    def __repr__(self) -> str:
        return f"<helve.Tools of {self._host!r}>"


class Host(Base, Tools):
    """Connects to MCP servers, keeps them alive, decides what may be called, and calls it.

    Use it as `async with helve.Host() as host:`.
    """

    async def start(self) -> None:
        """Starts the host. Servers are connected in the background; only required ones are waited for."""
        try:
            self._opened(await _run(self._start_open()))
        finally:
            self._is_starting = False

    async def aclose(self) -> None:
        """Ends every server, patiently. A host that does not run stays as it is."""
        if self.is_running:
            await _run(self._start_close())

    async def __aenter__(self) -> Host:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def ready(self, server: str | None = None, *, timeout: float = 30.0) -> bool:
        """Waits until a server is connected, and raises why it is not; or, without one, until no server is on its way any more. False
        when that took longer than `timeout` seconds.
        """
        is_ready: bool = await _run(self._start_ready(server, timeout))
        return is_ready

    async def resources(self, server: str | None = None) -> Listing:
        """The resources of one server, or of all."""
        return _listing(await _run(self._start_offers("resources", server)))

    async def resource_templates(self, server: str | None = None) -> Listing:
        """The resource templates of one server, or of all."""
        return _listing(await _run(self._start_offers("templates", server)))

    async def prompts(self, server: str | None = None) -> Listing:
        """The prompts of one server, or of all."""
        return _listing(await _run(self._start_offers("prompts", server)))

    async def add_server(self, name: str, server: Mapping[str, Any]) -> None:
        """Adds a server, or replaces the one of that name, and waits until it is connected."""
        await _run(self._start_add(name, server))

    async def remove_server(self, name: str) -> None:
        """Ends and removes a server."""
        await _run(self._start_remove(name))

    async def reconnect_server(self, name: str) -> None:
        """Gives up the connection to a server and makes a new one."""
        await _run(self._start_reconnect(name))

    def watch(self, server: str, uri: str, *, reason: str = "") -> Watch:
        """Hears of changes of a resource from its server: `async for event in host.watch("files", "file:///notes")`."""
        return Watch(self._running().watch(), self._subscribing(server, uri, reason))

    def poll(self, name: str, arguments: Mapping[str, Any] | None = None, *, every: float, reason: str = "") -> Watch:
        """Calls a tool every so many seconds, and tells when its result is another one."""
        return Watch(self._running().watch(), self._polling(name, arguments, every, reason))

    def poll_resource(self, server: str, uri: str, *, every: float, reason: str = "") -> Watch:
        """Reads a resource every so many seconds, and tells when its content is another one."""
        return Watch(self._running().watch(), self._rereading(server, uri, every, reason))

    def _await_answer(
        self, kind: str, number: int, result: Any, responder: _helve.Responder, context: contextvars.Context
    ) -> None:
        from asyncio import get_running_loop

        task = context.run(get_running_loop().create_task, self._finish(kind, result, responder))
        self._asking[number] = task
        task.add_done_callback(lambda _task: self._asking.pop(number, None))

    async def _finish(self, kind: str, result: Any, responder: _helve.Responder) -> None:
        try:
            self._reply(kind, await result, responder)
        except Exception as error:
            self._failed(kind, error, responder)

    def _withdrawn(self, number: int) -> None:
        task = self._asking.pop(number, None)
        if task is not None:
            task.cancel()

    def _run_told(self, callback: Callable[[Any], Any], news: Any) -> None:
        from asyncio import get_running_loop

        result = callback(news)
        if hasattr(result, "__await__"):
            task = get_running_loop().create_task(_awaited(result))
            self._asking[id(task)] = task
            task.add_done_callback(lambda task: self._asking.pop(id(task), None))


async def _awaited(result: Any) -> None:
    await result


class Watch:
    """Changes of one thing, to iterate over. It ends with `aclose`, or with the object."""

    def __init__(self, watch: _helve.Watch, begin: Begin) -> None:
        self._watch = watch
        self._begin: Begin | None = begin
        self._is_over = False
        #: What was seen first, where it is polled.
        self.first: Any = None
        #: The name of the watch, once it has begun.
        self.id: str | None = None

    async def begin(self) -> Watch:
        """Begins to watch, where that has not happened: raises why it cannot."""
        begin, self._begin = self._begin, None
        if begin is not None:
            self.id, self.first = await _run(lambda mailbox, future: begin(self._watch, mailbox, future))
        return self

    def __aiter__(self) -> AsyncIterator[WatchEvent]:
        return self

    async def __anext__(self) -> WatchEvent:
        if self._is_over:
            raise StopAsyncIteration
        await self.begin()
        event = _event(await _run(self._watch.next))
        self._is_over = event.change == "ended"
        return event

    async def __aenter__(self) -> Watch:
        return await self.begin()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Ends the watch; its server is told."""
        self._is_over = True
        self._watch.end()
