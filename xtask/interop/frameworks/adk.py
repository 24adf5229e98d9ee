# Google's Agent Development Kit: an MCP server's tools as an agent's tools.
from contextlib import asynccontextmanager

from google.adk.agents import LlmAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.sessions import InMemorySessionService
from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams, StreamableHTTPConnectionParams
from google.adk.tools.tool_context import ToolContext
from mcp import StdioServerParameters
from steps import Framework, plan, run


class Adk(Framework):
    @asynccontextmanager
    async def connect(self):
        if "url" in plan:
            connection = StreamableHTTPConnectionParams(url=plan["url"], timeout=60)
        else:
            server = StdioServerParameters(command=plan["command"], args=plan["args"], env=plan["env"])
            connection = StdioConnectionParams(server_params=server, timeout=60)
        toolset = McpToolset(connection_params=connection, progress_callback=self.on_progress)
        self.loaded = await toolset.get_tools()
        # Where a model's calls come from; no model is asked.
        sessions = InMemorySessionService()
        session = await sessions.create_session(app_name="interop", user_id="person")
        agent = LlmAgent(name="agent", model="none", tools=[toolset])
        self.invocation = InvocationContext(
            session_service=sessions, session=session, agent=agent, invocation_id="visit"
        )
        yield
        await toolset.close()

    async def tools(self):
        return [
            {"name": tool.name, "description": tool.description, "schema": tool._get_declaration()}
            for tool in self.loaded
        ]

    async def call(self, name, arguments):
        tool = next(tool for tool in self.loaded if tool.name == name)
        return await tool.run_async(args=arguments, tool_context=ToolContext(self.invocation))


run(Adk())
