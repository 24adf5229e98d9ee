"""Tools of a host for LangChain and LangGraph."""

from __future__ import annotations

from typing import Any

from langchain_core.tools import BaseTool, StructuredTool, ToolException

from .._host import Tools


def tools(host: Tools) -> list[BaseTool]:
    """The tools of a host, or of a scope of one, as they are now. What goes wrong is a `ToolException`, in words for the model."""
    return [_tool(host, definition) for definition in host.tools("mcp")]


def _tool(host: Tools, definition: dict[str, Any]) -> BaseTool:
    name: str = definition["name"]

    async def call(**arguments: Any) -> str:
        result = await host.execute(name, arguments)
        if result.is_error:
            raise ToolException(result.text)
        return result.text

    return StructuredTool(
        name=name,
        description=definition.get("description", ""),
        args_schema=definition["inputSchema"],
        coroutine=call,
        handle_tool_error=True,
        metadata={"annotations": definition.get("annotations", {})},
    )
