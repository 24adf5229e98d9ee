# LangChain's tools from MCP servers: in one session, and in a new one for each call once the server was killed.
from contextlib import asynccontextmanager

from langchain_mcp_adapters.callbacks import Callbacks
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from steps import Framework, plan, run


class LangChain(Framework):
    @asynccontextmanager
    async def connect(self):
        if "url" in plan:
            connection = {"transport": "http", "url": plan["url"]}
        else:
            connection = {"transport": "stdio", **{key: plan[key] for key in ("command", "args", "env")}}
        callbacks = Callbacks(on_progress=self.on_progress)
        self.client = MultiServerMCPClient({"own": connection}, callbacks=callbacks)
        self.was_killed = False
        async with self.client.session("own") as session:
            self.loaded = await load_mcp_tools(session, callbacks=callbacks)
            yield

    async def tools(self):
        return [
            {"name": tool.name, "description": tool.description, "schema": tool.args_schema, "about": tool.metadata}
            for tool in self.loaded
        ]

    async def call(self, name, arguments):
        tools = await self.client.get_tools() if self.was_killed else self.loaded
        self.was_killed = self.was_killed or name.endswith("die")
        tool = next(tool for tool in tools if tool.name == name)
        message = await tool.ainvoke({"name": name, "args": arguments, "id": "call-1", "type": "tool_call"})
        # Each block gets an id of its own, another one each time.
        content = [{key: part for key, part in block.items() if key != "id"} for block in message.content]
        return {"content": content, "artifact": message.artifact, "status": message.status}


run(LangChain())
