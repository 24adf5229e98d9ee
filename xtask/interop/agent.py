# An agent on the Python SDK 2.x or on fastmcp, for interop runs: what it sees of a server is one line of JSON on stdout.
# Usage: python agent.py PLAN
# PLAN is a JSON object:
#   name     what it answers with when it is asked
#   client   "mcp" or "fastmcp"
#   era      "legacy" or "modern"
#   url      where the server listens; with sse: true, by the older transport; or
#   command  with args and env: how it is started
#   tools    how tools are called: "{server}__{tool}"
#   scratch  a directory that the file server may write to
# Every step is answered with what was seen or with {"error": ...}; who judges them is the one who asked.
import asyncio
import json
import sys
import warnings
from contextlib import asynccontextmanager

import mcp_types as types
from mcp.client.subscriptions import listen

# Sampling, roots and the level of logs are on their way out, and still in use.
warnings.simplefilter("ignore")

PATIENCE = 60
MODES = {"legacy": "legacy", "modern": "auto"}
LONG = "trigger-long-running-operation"

plan = json.loads(sys.argv[1])
asked = {}
updates = asyncio.Queue()


class SdkAgent:
    """On the official SDK."""

    def __init__(self):
        from mcp import Client, StdioServerParameters
        from mcp.client.sse import sse_client

        if plan.get("sse"):
            server = sse_client(plan["url"])
        elif "url" in plan:
            server = plan["url"]
        else:
            server = StdioServerParameters(command=plan["command"], args=plan["args"], env=plan.get("env"))
        self.client = Client(
            server,
            mode=MODES[plan["era"]],
            read_timeout_seconds=PATIENCE,
            sampling_callback=lambda _context, params: sample(params),
            elicitation_callback=lambda _context, params: elicit(params),
            list_roots_callback=lambda _context: roots(),
            message_handler=notice,
        )

    async def version(self):
        return self.client.protocol_version

    async def tools(self):
        names, cursor = [], None
        while True:
            page = await self.client.list_tools(cursor=cursor, cache_mode="refresh")
            names.extend(tool.name for tool in page.tools)
            cursor = page.next_cursor
            if not cursor:
                return names

    async def prompts(self):
        return (await self.client.list_prompts()).prompts

    async def resources(self):
        return (await self.client.list_resources()).resources

    async def templates(self):
        return (await self.client.list_resource_templates()).resource_templates

    async def read(self, uri):
        return (await self.client.read_resource(uri)).contents

    async def prompt(self, name, arguments):
        return (await self.client.get_prompt(name, arguments)).messages

    async def call(self, name, arguments, on_progress):
        return await self.client.call_tool(name, arguments, progress_callback=on_progress)


class FastAgent:
    """On fastmcp, which has no words of its own for subscriptions: they go through the session below it."""

    def __init__(self):
        from fastmcp import Client
        from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport

        if plan.get("sse"):
            transport = SSETransport(plan["url"])
        elif "url" in plan:
            transport = StreamableHttpTransport(plan["url"])
        else:
            transport = StdioTransport(plan["command"], plan["args"], env=plan.get("env"), keep_alive=False)
        self.client = Client(
            transport,
            mode=MODES[plan["era"]],
            timeout=PATIENCE,
            init_timeout=PATIENCE,
            sampling_handler=lambda _messages, params, _context: sample(params),
            elicitation_handler=lambda _message, _type, params, _context: elicit(params),
            roots=[f"file://{plan['scratch']}"],
            message_handler=notice,
        )

    async def version(self):
        return self.client.session.protocol_version

    async def tools(self):
        return [tool.name for tool in await self.client.list_tools()]

    async def prompts(self):
        return await self.client.list_prompts()

    async def resources(self):
        return await self.client.list_resources()

    async def templates(self):
        return await self.client.list_resource_templates()

    async def read(self, uri):
        return await self.client.read_resource(uri)

    async def prompt(self, name, arguments):
        return (await self.client.get_prompt(name, arguments)).messages

    async def call(self, name, arguments, on_progress):
        return await self.client.call_tool_mcp(name, arguments, progress_handler=on_progress)


async def sample(params):
    asked["sampling"] = params.messages[0].content.text
    content = types.TextContent(type="text", text=f"as scripted by {plan['name']}")
    return types.CreateMessageResult(role="assistant", model="scripted", content=content)


async def elicit(params):
    asked["elicitation"] = params.message
    return types.ElicitResult(action="accept", content={"name": plan["name"], "integer": 42})


async def roots():
    return types.ListRootsResult(roots=[types.Root(uri=f"file://{plan['scratch']}", name="scratch")])


async def notice(message):
    message = getattr(message, "root", message)
    if isinstance(message, types.ResourceUpdatedNotification):
        updates.put_nowait(str(message.params.uri))


async def main():
    agent = SdkAgent() if plan["client"] == "mcp" else FastAgent()
    seen = {}

    async def step(name, taken):
        try:
            seen[name] = await asyncio.wait_for(taken, PATIENCE)
        except Exception as error:
            seen[name] = {"error": f"{type(error).__name__}: {error}"}

    try:
        async with agent.client:
            await step("connect", agent.version())
            await step("list", list_all(agent))
            await step("call", call_each(agent))
            await step("read", read(agent))
            await step("progress", progress(agent))
            await step("cancel", cancel(agent))
            await step("subscribe", subscribe(agent))
            await step("appear", appear(agent))
            prompt = {"prompt": f"hello from {plan['name']}"}
            await step("sample", answered(agent, "trigger-sampling-request", prompt, "sampling"))
            await step("elicit", answered(agent, "trigger-elicitation-request", {}, "elicitation"))
            await step("roots", call(agent, "everything", "get-roots-list", {}))
        seen["close"] = True
    except Exception as error:
        ended = "close" if "connect" in seen else "connect"
        seen[ended] = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(seen))


async def list_all(agent):
    return {
        "tools": await agent.tools(),
        "prompts": [prompt.name for prompt in await agent.prompts()],
        "resources": [str(resource.uri) for resource in await agent.resources()],
    }


async def call_each(agent):
    path = f"{plan['scratch']}/agent.txt"
    return {
        "echo": await call(agent, "everything", "echo", {"message": "größer"}),
        "write": await call(agent, "filesystem", "write_file", {"path": path, "content": "written"}),
        "read": await call(agent, "filesystem", "read_text_file", {"path": path}),
        "time": await call(agent, "time", "get_current_time", {"timezone": "UTC"}),
    }


async def read(agent):
    contents = await agent.read(await dynamic(agent))
    name = next(prompt.name for prompt in await agent.prompts() if prompt.name.endswith("args-prompt"))
    messages = await agent.prompt(name, {"city": "Oslo"})
    return {"resource": contents[0].text, "prompt": messages[0].content.text}


async def progress(agent):
    reports = []

    async def on_progress(progress, total, _message):
        reports.append([progress, total])

    await call(agent, "everything", LONG, {"duration": 1, "steps": 4}, on_progress)
    return reports


async def cancel(agent):
    at_it = asyncio.Event()

    async def on_progress(*_report):
        at_it.set()

    calling = asyncio.create_task(call(agent, "everything", LONG, {"duration": 20, "steps": 100}, on_progress))
    await at_it.wait()
    calling.cancel()
    try:
        ended = {"text": await calling}
    except asyncio.CancelledError:
        ended = {"refused": "cancelled"}
    return {**ended, "then": await call(agent, "everything", "echo", {"message": "still here"})}


async def subscribe(agent):
    uri = await dynamic(agent)
    async with subscription(agent, uri) as updated:
        await call(agent, "everything", "toggle-subscriber-updates", {})
        update = await updated()
        await call(agent, "everything", "toggle-subscriber-updates", {})
    return {"uri": uri, "update": update}


async def appear(agent):
    """Servers may show more tools once they know us; the end of patience is the end of the step."""
    wanted = named("everything", "trigger-elicitation-request")
    while wanted not in (tools := await agent.tools()):
        await asyncio.sleep(0.1)
    return tools


@asynccontextmanager
async def subscription(agent, uri):
    """Watches a resource, as the era has it; gives a function that waits for the next update."""
    if plan["era"] == "modern":
        async with listen(agent.client.session, resource_subscriptions=[uri]) as events:

            async def from_stream():
                async for event in events:
                    return str(event.uri)

            yield from_stream
    else:
        await agent.client.session.subscribe_resource(uri)
        yield updates.get
        await agent.client.session.unsubscribe_resource(uri)


async def dynamic(agent):
    """The address of a resource that can be subscribed to."""
    templates = [template.uri_template for template in await agent.templates()]
    return next(template for template in templates if "dynamic/text/" in template).replace("{resourceId}", "1")


async def answered(agent, tool, arguments, question):
    text = await call(agent, "everything", tool, arguments)
    return {"text": text, "asked": asked.get(question)}


async def call(agent, server, tool, arguments, on_progress=None):
    result = await agent.call(named(server, tool), arguments, on_progress)
    text = "\n".join(getattr(block, "text", "") for block in result.content)
    if result.is_error:
        raise RuntimeError(f"{tool} failed: {text}")
    return text


def named(server, tool):
    return plan["tools"].replace("{server}", server).replace("{tool}", tool)


asyncio.run(main())
