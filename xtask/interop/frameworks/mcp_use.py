# mcp-use: sessions from a table of servers. It has no way to hear of progress.
import os
from contextlib import asynccontextmanager

# It would tell its makers about every call.
os.environ["MCP_USE_ANONYMIZED_TELEMETRY"] = "false"

from mcp_use import MCPClient  # noqa: E402
from steps import Framework, plan, run  # noqa: E402


class McpUse(Framework):
    @asynccontextmanager
    async def connect(self):
        server = {"url": plan["url"]} if "url" in plan else {key: plan[key] for key in ("command", "args", "env")}
        client = MCPClient.from_dict({"mcpServers": {"own": server}})
        self.session = await client.create_session("own")
        yield
        await client.close_all_sessions()

    async def tools(self):
        return await self.session.list_tools()

    async def call(self, name, arguments):
        return await self.session.call_tool(name, arguments)


run(McpUse())
