"""The extension module. Only the package itself uses it, but for `Result`."""

from pathlib import Path
from typing import Any, Literal, final

__version__: str

def open(mailbox: Mailbox, future: Any, host: Any, options: str) -> int: ...
def codes() -> list[str]: ...

@final
class Result:
    """What a tool answered."""

    @property
    def text(self) -> str:
        """The result as one text: what is not text is named in brackets."""

    @property
    def content(self) -> list[dict[str, Any]]:
        """The blocks of content, as the server sent them."""

    @property
    def structured(self) -> Any:
        """The structured value, where the tool gave one."""

    @property
    def meta(self) -> dict[str, Any] | None:
        """`_meta` of the result."""

    @property
    def is_error(self) -> bool:
        """The tool says that it failed, or the model is told why the call did."""

    @property
    def code(self) -> str | None:
        """The code of the failure, `None` where there is none."""

    @property
    def server(self) -> str | None:
        """The server, as it is configured."""

    @property
    def tool(self) -> str | None:
        """The tool, as its server calls it."""

    @property
    def duration(self) -> float:
        """How long the call took, in seconds."""

    @property
    def from_cache(self) -> bool:
        """It was kept from an earlier call."""

    @property
    def warnings(self) -> list[str]:
        """What is not as it should be."""

    @property
    def kept_in(self) -> list[Path]:
        """Where a result that was too large is kept whole."""

    @property
    def raw(self) -> dict[str, Any]:
        """The whole result, as the server sent it."""

    def to_json(self) -> str:
        """The whole result as JSON, as the server sent it."""

    def to_message(
        self, call_id: str, provider: Literal["anthropic", "openai", "gemini"] = "anthropic"
    ) -> dict[str, Any]:
        """The block that answers a model's call."""

@final
class Mailbox:
    def __new__(cls, for_loop: bool) -> Mailbox: ...
    def fileno(self) -> int: ...
    def drain(self) -> None: ...
    def cancel(self, ticket: int) -> None: ...
    def wait(self, ticket: int) -> Any: ...
    def __len__(self) -> int: ...

@final
class Responder:
    def send(self, text: str) -> None: ...
    def fail(self, reason: str) -> None: ...

@final
class Parent: ...

@final
class Core:
    @property
    def is_closed(self) -> bool: ...
    def view(self) -> View: ...
    def add_skill(self, definition: str) -> None: ...
    def ready(self, mailbox: Mailbox, future: Any, server: str | None, timeout: float) -> int: ...
    def servers(self) -> list[dict[str, Any]]: ...
    def offers(self, mailbox: Mailbox, future: Any, kind: str, server: str | None) -> int: ...
    def add_servers(self, mailbox: Mailbox, future: Any, document: str) -> int: ...
    def remove_server(self, mailbox: Mailbox, future: Any, server: str) -> int: ...
    def reconnect_server(self, mailbox: Mailbox, future: Any, server: str) -> int: ...
    def toggle(self, server: str, on: bool) -> None: ...
    def watch(self) -> Watch: ...
    def close(self, mailbox: Mailbox, future: Any) -> int: ...
    def close_now(self) -> None: ...

@final
class View:
    def narrow(self, only: list[str] | None, without: list[str]) -> View: ...
    def using(self, timeout: float | None, total: float | None, meta: str | None, uncut: bool | None) -> View: ...
    def call(
        self,
        mailbox: Mailbox,
        future: Any,
        manner: str,
        name: str,
        arguments: str,
        parent: Parent | None,
        on_progress: Any,
    ) -> int: ...
    def run(self, mailbox: Mailbox, future: Any, source: str, parent: Parent | None, on_progress: Any) -> int: ...
    def tools(self, provider: str) -> tuple[list[dict[str, Any]], list[str]]: ...
    def names(self) -> list[str]: ...
    def search(self, query: str, limit: int, server: str | None) -> list[dict[str, str]]: ...
    def system_prompt(self, budget: int | None) -> str: ...
    def read_resource(self, mailbox: Mailbox, future: Any, server: str, uri: str, parent: Parent | None) -> int: ...
    def get_prompt(
        self,
        mailbox: Mailbox,
        future: Any,
        server: str,
        prompt: str,
        arguments: str,
        provider: str,
        parent: Parent | None,
    ) -> int: ...

@final
class Watch:
    def subscribe(self, mailbox: Mailbox, future: Any, server: str, uri: str, reason: str) -> int: ...
    def poll_tool(
        self, mailbox: Mailbox, future: Any, name: str, arguments: str, every: float, reason: str
    ) -> int: ...
    def poll_resource(
        self, mailbox: Mailbox, future: Any, server: str, uri: str, every: float, reason: str
    ) -> int: ...
    def next(self, mailbox: Mailbox, future: Any) -> int: ...
    def end(self) -> None: ...
