# Pydantic AI's toolset of an MCP server.
from contextlib import asynccontextmanager

from fastmcp.client.transports import StdioTransport
from pydantic_ai.mcp import MCPToolset
from steps import Framework, plan, run


class Pydantic(Framework):
    @asynccontextmanager
    async def connect(self):
        server = plan.get("url") or StdioTransport(plan["command"], plan["args"], env=plan["env"])
        self.toolset = MCPToolset(server, progress_handler=self.on_progress, init_timeout=60)
        async with self.toolset:
            yield

    async def tools(self):
        return await self.toolset.list_tools()

    async def call(self, name, arguments):
        return await self.toolset.direct_call_tool(name, arguments)


run(Pydantic())
