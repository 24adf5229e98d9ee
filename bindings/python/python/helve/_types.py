"""What callbacks get and what hosts tell, as small classes."""

from __future__ import annotations

import enum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ._errors import Error


class Answer(enum.Enum):
    """What an `approve` callback may say, besides `True` (once) and `False`."""

    #: Yes, this call.
    ONCE = "once"
    #: Yes, and all such calls until the host ends.
    RUN = "run"
    #: Yes, and all such calls until the tool's definition changes.
    ALWAYS = "always"
    #: No.
    NO = "no"


class _Record:
    """A class whose attributes are given by name."""

    __slots__: tuple[str, ...] = ()

    def __init__(self, **values: Any) -> None:
        for name in self.__slots__:
            setattr(self, name, values.get(name))

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({values})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)


class ApprovalRequest(_Record):
    """A call that waits for a yes."""

    __slots__ = ("name", "server", "tool", "kind", "arguments", "caller", "risk", "question")

    #: `server/tool`.
    name: str
    server: str
    tool: str
    #: `tool`, `resource` or `prompt`.
    kind: str
    arguments: dict[str, Any]
    #: Who wants it: `a script`, `an agent`, `a poll`.
    caller: str
    #: `low`, `medium` or `high`.
    risk: str
    #: The whole question, as a sentence.
    question: str


class ElicitationRequest(_Record):
    """What a server wants to know of a person: a form, or a page to open."""

    __slots__ = ("server", "message", "params")

    server: str
    message: str
    #: As the server wrote them.
    params: dict[str, Any]

    @property
    def schema(self) -> dict[str, Any] | None:
        """The form; `None` where a page is to be opened."""
        return self.params.get("requestedSchema")

    @property
    def url(self) -> str | None:
        """The page to open; `None` where a form is to be filled in."""
        return self.params.get("url")


class SamplingRequest(_Record):
    """What a server wants a model to answer."""

    __slots__ = ("server", "params")

    server: str
    #: The parameters of `sampling/createMessage`, as the server wrote them.
    params: dict[str, Any]

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation so far."""
        messages: list[dict[str, Any]] = self.params.get("messages", [])
        return messages


class LogLine(_Record):
    """What a server logs."""

    __slots__ = ("server", "level", "logger", "data")

    server: str
    level: str
    logger: str | None
    data: Any


class CallRecord(_Record):
    """What is known of a call once it has ended, whichever way."""

    __slots__ = (
        "id",
        "parent",
        "asked",
        "server",
        "tool",
        "caller",
        "end",
        "code",
        "decided_by",
        "started",
        "duration",
        "attempts",
        "argument_bytes",
        "result_bytes",
    )

    id: str
    #: The call in the course of which it was made.
    parent: str | None
    #: The name that the caller gave.
    asked: str
    server: str | None
    tool: str | None
    caller: str
    #: `done`, `from cache` or `failed`.
    end: str
    code: str | None
    #: The rule, list or person that decided.
    decided_by: str | None
    #: Seconds since 1970.
    started: float
    #: Seconds.
    duration: float
    attempts: int
    argument_bytes: int
    result_bytes: int


class Progress(_Record):
    """How far a call has come."""

    __slots__ = ("progress", "total", "message")

    progress: float
    total: float | None
    message: str | None


class ProgramCall(_Record):
    """A call that a program made."""

    __slots__ = ("tool", "ok", "code", "ms")

    #: `server/tool`.
    tool: str
    ok: bool
    #: Why it failed; `CANCELLED` where it was under way when the program ended.
    code: str | None
    #: Milliseconds.
    ms: int


class ProgramResult(_Record):
    """What came of a program that a model wrote."""

    __slots__ = ("value", "printed", "calls", "error", "notes", "attachments", "text")

    #: A `return` at top level, else the last expression, else the variable `result`.
    value: Any
    printed: str
    #: In order; what they did is not undone where the program failed.
    calls: list[ProgramCall]
    #: Why it did not come to its end, to read or to raise.
    error: Error | None
    #: What is to be known about the value.
    notes: list[str]
    #: Images and bytes that are part of the value, as blocks of content.
    attachments: list[dict[str, Any]]
    #: All of it as a model reads it, shortened where it is long.
    text: str


class ServerStatus(_Record):
    """How a server is doing."""

    __slots__ = (
        "name",
        "status",
        "detail",
        "transport",
        "era",
        "protocol_version",
        "tools",
        "hidden_tools",
        "restarts",
        "connect_seconds",
        "last_error",
        "hints",
        "instructions",
        "server_info",
        "stderr",
    )

    name: str
    #: `disabled`, `pending`, `connected`, `failed` or `needs-auth`.
    status: str
    #: The same with the reason.
    detail: str
    transport: str
    era: str | None
    protocol_version: str | None
    tools: int
    hidden_tools: int
    restarts: int
    connect_seconds: float | None
    last_error: str | None
    hints: list[str]
    instructions: str | None
    server_info: dict[str, Any] | None
    stderr: str | None


class WatchEvent(_Record):
    """Something about what is watched."""

    __slots__ = ("watch", "server", "target", "reason", "change", "content", "content_bytes", "error", "superseded")

    watch: str
    server: str
    #: The URI, or the tool.
    target: str
    reason: str | None
    #: `updated`, `may_have_changed`, `content`, `failed` or `ended`.
    change: str
    #: What a poll got, unless that is large.
    content: Any
    content_bytes: int | None
    error: dict[str, Any] | None
    #: How many events before this one nobody took.
    superseded: int


if TYPE_CHECKING:
    _Dicts = list[dict[str, Any]]
else:
    _Dicts = list


class Listing(_Dicts):
    """What servers offer, and why some of them did not answer. Each item has its server in the key `server`."""

    def __init__(self, items: Iterable[dict[str, Any]] = (), errors: Iterable[Exception] = (), warnings: Iterable[str] = ()) -> None:
        super().__init__(items)
        #: Servers that could not be asked.
        self.errors: list[Exception] = list(errors)
        #: Items that had to be left out.
        self.warnings: list[str] = list(warnings)
