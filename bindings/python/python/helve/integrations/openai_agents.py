"""Tools of a host for the OpenAI Agents SDK."""

from __future__ import annotations

from typing import Any

from agents import FunctionTool
from agents.tool_context import ToolContext

from .._host import Tools


def tools(host: Tools) -> list[FunctionTool]:
    """The tools of a host, or of a scope of one, as they are now. The model gets what `execute` answers, whatever went wrong."""
    return [_tool(host, definition) for definition in host.tools("mcp")]


def _tool(host: Tools, definition: dict[str, Any]) -> FunctionTool:
    name: str = definition["name"]

    async def call(context: ToolContext[Any], arguments: str) -> str:
        return (await host.execute(name, arguments)).text

    return FunctionTool(
        name=name,
        description=definition.get("description", ""),
        params_json_schema=definition["inputSchema"],
        on_invoke_tool=call,
        strict_json_schema=False,
    )
