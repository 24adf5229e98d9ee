"""The same host for scripts: every method waits in the thread that calls it, and callbacks run in that thread too."""

from __future__ import annotations

from . import _helve
from ._calls import Base, Calls, _event, _listing, _program_result

TYPE_CHECKING = False
if TYPE_CHECKING:
    import contextvars
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from types import TracebackType
    from typing import Any

    from ._calls import Begin, Start
    from ._types import Listing, ProgramResult, Progress, WatchEvent

__all__ = ["Host", "Tools", "Watch"]


class Tools(Calls):
    """What one caller sees of a host, and how it calls: made by `Host.scope` and `using`."""

    _mailbox: _helve.Mailbox

    def _wait(self, start: Start) -> Any:
        mailbox = self._mailbox
        return mailbox.wait(start(mailbox, None))

    def call(self, name: str, arguments: Mapping[str, Any] | None = None, /, **keywords: Any) -> _helve.Result:
        """Calls a tool, named in any spelling, with arguments as a mapping or by name; gives the whole result.

        A tool that says that it failed is a result (`is_error`); everything else that goes wrong raises an `Error`.
        """
        result: _helve.Result = self._wait(self._start_call("call", name, arguments, keywords))
        return result

    def tool(self, name: str, arguments: Mapping[str, Any] | None = None, /, **keywords: Any) -> Any:
        """Calls a tool and gives what it answered: the structured value, or the text. Raises `ToolError` where the tool failed."""
        return self._wait(self._start_call("value", name, arguments, keywords))

    def execute(self, name: str, input: Mapping[str, Any] | str | None = None, /) -> _helve.Result:
        """Runs what a model asked for, and answers the model: see `helve.Host.execute`."""
        result: _helve.Result = self._wait(self._start_call("model", name, input, {}))
        return result

    def run(self, source: str) -> ProgramResult:
        """Runs a Python program that a model wrote: see `helve.Host.run`."""
        return _program_result(self._wait(self._start_run(source)))

    def read_resource(self, server: str, uri: str) -> list[dict[str, Any]]:
        """Reads a resource: its contents, as the server sent them."""
        contents: list[dict[str, Any]] = self._wait(self._start_read(server, uri))["contents"]
        return contents

    def get_prompt(
        self, server: str, name: str, arguments: Mapping[str, str] | None = None, *, provider: str = "anthropic"
    ) -> dict[str, Any]:
        """Gets a prompt: its `description`, and its `messages` as the provider takes them."""
        prompt: dict[str, Any] = self._wait(self._start_prompt(server, name, arguments, provider))
        return prompt

    def scope(self, only: Iterable[str] | None = None, without: Iterable[str] = ()) -> Tools:
        """Fewer tools, for a sub-agent: only these, and not those. Nothing made from it has more than it has."""
        return self._another(self._narrowed(only, without), None)

    def using(
        self,
        *,
        timeout: float | None = None,
        total: float | None = None,
        meta: Mapping[str, Any] | None = None,
        uncut: bool | None = None,
        on_progress: Callable[[Progress], Any] | None = None,
    ) -> Tools:
        """The same tools, called otherwise: see `helve.Host.using`."""
        return self._another(self._used(timeout, total, meta, uncut), on_progress)

    def _another(self, view: _helve.View, on_progress: Callable[[Progress], Any] | None) -> Tools:
        another = Tools()
        another._mailbox = self._mailbox
        self._copy_to(another, view, on_progress)
        return another

    def __repr__(self) -> str:
        return f"<helve.sync.Tools of {self._host!r}>"


class Host(Base, Tools):
    """Connects to MCP servers, keeps them alive, decides what may be called, and calls it, for programs without an event loop.

    Use it as `with helve.sync.Host() as host:`. It may be used by several threads at once.
    """

    def start(self) -> None:
        """Starts the host. Servers are connected in the background; only required ones are waited for."""
        self._mailbox = _helve.Mailbox(False)
        try:
            self._opened(self._wait(self._start_open()))
        finally:
            self._is_starting = False

    def close(self) -> None:
        """Ends every server, patiently. A host that does not run stays as it is."""
        if self.is_running:
            self._wait(self._start_close())

    def __enter__(self) -> Host:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def ready(self, server: str | None = None, *, timeout: float = 30.0) -> bool:
        """Waits until a server is connected, and raises why it is not; or, without one, until no server is on its way any more. False
        when that took longer than `timeout` seconds.
        """
        is_ready: bool = self._wait(self._start_ready(server, timeout))
        return is_ready

    def resources(self, server: str | None = None) -> Listing:
        """The resources of one server, or of all."""
        return _listing(self._wait(self._start_offers("resources", server)))

    def resource_templates(self, server: str | None = None) -> Listing:
        """The resource templates of one server, or of all."""
        return _listing(self._wait(self._start_offers("templates", server)))

    def prompts(self, server: str | None = None) -> Listing:
        """The prompts of one server, or of all."""
        return _listing(self._wait(self._start_offers("prompts", server)))

    def add_server(self, name: str, server: Mapping[str, Any]) -> None:
        """Adds a server, or replaces the one of that name, and waits until it is connected."""
        self._wait(self._start_add(name, server))

    def remove_server(self, name: str) -> None:
        """Ends and removes a server."""
        self._wait(self._start_remove(name))

    def reconnect_server(self, name: str) -> None:
        """Gives up the connection to a server and makes a new one."""
        self._wait(self._start_reconnect(name))

    def watch(self, server: str, uri: str, *, reason: str = "") -> Watch:
        """Hears of changes of a resource from its server: `for event in host.watch("files", "file:///notes")`."""
        return Watch(self._mailbox, self._running().watch(), self._subscribing(server, uri, reason))

    def poll(self, name: str, arguments: Mapping[str, Any] | None = None, *, every: float, reason: str = "") -> Watch:
        """Calls a tool every so many seconds, and tells when its result is another one."""
        return Watch(self._mailbox, self._running().watch(), self._polling(name, arguments, every, reason))

    def poll_resource(self, server: str, uri: str, *, every: float, reason: str = "") -> Watch:
        """Reads a resource every so many seconds, and tells when its content is another one."""
        return Watch(self._mailbox, self._running().watch(), self._rereading(server, uri, every, reason))

    def _await_answer(
        self, kind: str, number: int, result: Any, responder: _helve.Responder, context: contextvars.Context
    ) -> None:
        try:
            self._reply(kind, context.run(_run, result), responder)
        except Exception as error:
            self._failed(kind, error, responder)

    def _run_told(self, callback: Callable[[Any], Any], news: Any) -> None:
        result = callback(news)
        if hasattr(result, "__await__"):
            _run(result)


def _run(result: Any) -> Any:
    """Runs a coroutine of a callback to its end."""
    import asyncio

    async def awaited() -> Any:
        return await result

    return asyncio.run(awaited())


class Watch:
    """Changes of one thing, to iterate over. It ends with `close`, or with the object."""

    def __init__(self, mailbox: _helve.Mailbox, watch: _helve.Watch, begin: Begin) -> None:
        self._mailbox = mailbox
        self._watch = watch
        self._begin: Begin | None = begin
        self._is_over = False
        #: What was seen first, where it is polled.
        self.first: Any = None
        #: The name of the watch, once it has begun.
        self.id: str | None = None

    def begin(self) -> Watch:
        """Begins to watch, where that has not happened: raises why it cannot."""
        begin, self._begin = self._begin, None
        if begin is not None:
            self.id, self.first = self._mailbox.wait(begin(self._watch, self._mailbox, None))
        return self

    def __iter__(self) -> Iterator[WatchEvent]:
        return self

    def __next__(self) -> WatchEvent:
        if self._is_over:
            raise StopIteration
        self.begin()
        event = _event(self._mailbox.wait(self._watch.next(self._mailbox, None)))
        self._is_over = event.change == "ended"
        return event

    def __enter__(self) -> Watch:
        return self.begin()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the watch; its server is told."""
        self._is_over = True
        self._watch.end()
