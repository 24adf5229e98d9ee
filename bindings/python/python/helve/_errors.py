"""What goes wrong, one class for each code: catch the class, or branch on `error.code`."""

from __future__ import annotations


class Error(Exception):
    """Something that helve could not do.

    `code` is for branching, the message for reading, `hints` say what to do about it. `may_have_run` is true when a call may have
    had its effect although there is no answer.
    """

    code: str = "ERROR"

    def __init__(
        self,
        message: str = "",
        *,
        code: str | None = None,
        server: str | None = None,
        tool: str | None = None,
        hints: list[str] | None = None,
        may_have_run: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code
        #: Which server it is about, as it is configured.
        self.server: str | None = server
        #: Which tool it is about, as its server calls it.
        self.tool: str | None = tool
        #: What somebody can do about it, a sentence each.
        self.hints: list[str] = [] if hints is None else hints
        # Tracebacks print notes below the message, from Python 3.11 on.
        add_note = getattr(self, "add_note", None)
        if add_note is not None:
            for hint in self.hints:
                add_note(f"hint: {hint}")
        #: The call may have had its effect.
        self.may_have_run: bool = may_have_run
        #: When it is worth trying again, in seconds.
        self.retry_after: float | None = retry_after

    @property
    def message(self) -> str:
        """What happened, in one line."""
        return str(self.args[0]) if self.args else ""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.message!r}, code={self.code!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return (_again, (type(self), self.message, dict(self.__dict__)))


class TransportError(Error):
    """A server could not be reached, or the connection to it broke."""

    code = "TRANSPORT_ERROR"


class ProtocolError(Error):
    """A server does not speak the protocol as it should, or refused a request."""

    code = "PROTOCOL_ERROR"


class ToolNotFound(Error):
    """There is no such tool; the hints name those that come near."""

    code = "TOOL_NOT_FOUND"


class InvalidParams(Error):
    """The arguments do not fit the tool's schema. Nothing was sent."""

    code = "INVALID_PARAMS"


class ToolError(Error):
    """The tool ran and says that it failed; the message is its own."""

    code = "TOOL_ERROR"


class ToolTimeout(Error):
    """There was no answer in time."""

    code = "TIMEOUT"


class ServerNotFound(Error):
    """There is no such server."""

    code = "SERVER_NOT_FOUND"


class ServerDisabled(Error):
    """The server is switched off, or held back."""

    code = "SERVER_DISABLED"


class ServerUnavailable(Error):
    """The server cannot be used now; also said of a host that is closed."""

    code = "SERVER_UNAVAILABLE"


class Denied(Error):
    """A rule, or somebody who was asked, says no."""

    code = "DENIED"


class ApprovalRequired(Error):
    """Somebody would have to say yes, and nobody can be asked: see the parameter `approve` of a host."""

    code = "APPROVAL_REQUIRED"


class AuthRequired(Error):
    """The server wants a login."""

    code = "AUTH_REQUIRED"


class Cancelled(Error):
    """The call was cancelled elsewhere. A task that is cancelled gets `asyncio.CancelledError`."""

    code = "CANCELLED"


class LimitExceeded(Error):
    """Too much, too many or too deep; `retry_after` says when there is room again."""

    code = "LIMIT_EXCEEDED"


class ResourceNotFound(Error):
    """The server has no such resource."""

    code = "RESOURCE_NOT_FOUND"


class PromptNotFound(Error):
    """The server has no such prompt."""

    code = "PROMPT_NOT_FOUND"


class Untrusted(Error):
    """A project's server, which nobody has trusted yet."""

    code = "UNTRUSTED"


class ConfigError(Error):
    """A configuration cannot be used."""

    code = "CONFIG"


BY_CODE: dict[str, type[Error]] = {kind.code: kind for kind in Error.__subclasses__()}


def of_code(code: str, message: str, **details: object) -> Error:
    """The exception of a code. The extension module calls this."""
    return BY_CODE.get(code, Error)(message, code=code, **details)  # type: ignore[arg-type]


def _again(kind: type[Error], message: str, state: dict[str, object]) -> Error:
    error = kind(message)
    error.__dict__.update(state)
    return error
