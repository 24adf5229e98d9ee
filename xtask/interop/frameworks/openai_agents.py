# The OpenAI Agents SDK: an MCP server's tools as functions of an agent. It has no way to hear of progress.
import json
from contextlib import asynccontextmanager

from agents import Agent, RunContextWrapper
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp, MCPUtil
from steps import Framework, plan, run


class OpenAi(Framework):
    @asynccontextmanager
    async def connect(self):
        common = {"name": "own", "client_session_timeout_seconds": 60, "use_structured_content": True}
        if "url" in plan:
            self.server = MCPServerStreamableHttp(params={"url": plan["url"], "timeout": 60}, **common)
        else:
            params = {key: plan[key] for key in ("command", "args", "env")}
            self.server = MCPServerStdio(params=params, **common)
        async with self.server:
            yield

    async def tools(self):
        context, agent = RunContextWrapper(None), Agent(name="agent")
        functions = await MCPUtil.get_function_tools(self.server, False, context, agent)
        return [
            {"name": tool.name, "description": tool.description, "schema": tool.params_json_schema}
            for tool in functions
        ]

    async def call(self, name, arguments):
        tool = next(tool for tool in await self.server.list_tools() if tool.name == name)
        return await MCPUtil.invoke_mcp_tool(self.server, tool, RunContextWrapper(None), json.dumps(arguments))


run(OpenAi())
