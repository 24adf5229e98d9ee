"""The handle between an agent and its tools: connects to MCP servers, keeps them alive, decides what may be called, and calls it.

    async with helve.Host() as host:
        print(await host.tool("filesystem/read_file", path="README.md"))

`helve.sync.Host` is the same for scripts without an event loop.
"""

from __future__ import annotations

from ._errors import (
    ApprovalRequired,
    AuthRequired,
    Cancelled,
    ConfigError,
    Denied,
    Error,
    InvalidParams,
    LimitExceeded,
    PromptNotFound,
    ProtocolError,
    ResourceNotFound,
    ServerDisabled,
    ServerNotFound,
    ServerUnavailable,
    ToolError,
    ToolNotFound,
    ToolTimeout,
    TransportError,
    Untrusted,
)
from ._helve import Result, __version__
from ._host import Host, Tools, Watch
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

__all__ = [
    "Answer",
    "ApprovalRequest",
    "ApprovalRequired",
    "AuthRequired",
    "CallRecord",
    "Cancelled",
    "ConfigError",
    "Denied",
    "ElicitationRequest",
    "Error",
    "Host",
    "InvalidParams",
    "LimitExceeded",
    "Listing",
    "LogLine",
    "ProgramCall",
    "ProgramResult",
    "Progress",
    "PromptNotFound",
    "ProtocolError",
    "ResourceNotFound",
    "Result",
    "SamplingRequest",
    "ServerDisabled",
    "ServerNotFound",
    "ServerStatus",
    "ServerUnavailable",
    "ToolError",
    "ToolNotFound",
    "ToolTimeout",
    "Tools",
    "TransportError",
    "Untrusted",
    "Watch",
    "WatchEvent",
    "__version__",
]

# People know these classes by the package: not by the file, which may be another one tomorrow.
for _name in __all__:
    if isinstance(globals()[_name], type) and globals()[_name].__module__ != __name__:
        globals()[_name].__module__ = __name__
del _name
