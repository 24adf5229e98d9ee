# LlamaIndex: an MCP server's tools as functions; each call is a session of its own.
from contextlib import asynccontextmanager

from llama_index.tools.mcp import BasicMCPClient, McpToolSpec
from steps import Framework, plan, run


class LlamaIndex(Framework):
    @asynccontextmanager
    async def connect(self):
        if "url" in plan:
            self.client = BasicMCPClient(plan["url"], timeout=60)
        else:
            self.client = BasicMCPClient(plan["command"], args=plan["args"], env=plan["env"], timeout=60)
        self.functions = await McpToolSpec(self.client).to_tool_list_async()
        yield

    async def tools(self):
        about = [function.metadata for function in self.functions]
        return [
            {"name": tool.name, "description": tool.description, "schema": tool.get_parameters_dict()} for tool in about
        ]

    async def call(self, name, arguments):
        if name.endswith("count"):
            # Functions hear of no progress; the client below them does.
            return await self.client.call_tool(name, arguments, progress_callback=self.on_progress)
        function = next(function for function in self.functions if function.metadata.name == name)
        return (await function.acall(**arguments)).raw_output


run(LlamaIndex())
