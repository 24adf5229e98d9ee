"""Tools of a host for pydantic-ai."""

from __future__ import annotations

from typing import Any

from pydantic_ai import ModelRetry, Tool
from pydantic_ai.toolsets import FunctionToolset

from .._host import Tools


def toolset(host: Tools) -> FunctionToolset[Any]:
    """The tools of a host, or of a scope of one, as they are now. What goes wrong is a `ModelRetry`, in words for the model."""
    return FunctionToolset([_tool(host, definition) for definition in host.tools("mcp")])


def _tool(host: Tools, definition: dict[str, Any]) -> Tool[Any]:
    name: str = definition["name"]

    async def call(**arguments: Any) -> str:
        result = await host.execute(name, arguments)
        if result.is_error:
            raise ModelRetry(result.text)
        return result.text

    return Tool.from_schema(
        call, name=name, description=definition.get("description", ""), json_schema=definition["inputSchema"]
    )
