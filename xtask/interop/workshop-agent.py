# Agents on fastmcp that visit the workshop, for interop runs: what they saw is one line of JSON on stdout.
# Usage: python workshop-agent.py PLAN
# PLAN is a JSON object:
#   era      "legacy" or "modern"
#   url      where the server listens; or
#   command  with args and env: how it is started
#   prefix   what stands before each tool's name
#   root     the directory that the agent works in
#   agents   how many come at the same time and only list and call (1: one that also answers questions)
import asyncio
import json
import sys
import warnings

import mcp_types as types
from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

# Sampling and roots are on their way out, and still in use.
warnings.simplefilter("ignore")

PATIENCE = 60

plan = json.loads(sys.argv[1])


async def elicit(message, _type, _params, _context):
    asked.append(message)
    return types.ElicitResult(action="accept", content={"value": "Ada"})


async def sample(messages, _params, _context):
    asked.append(messages[0].content.text)
    content = types.TextContent(type="text", text="something")
    return types.CreateMessageResult(role="assistant", model="scripted", content=content)


asked = []


def client():
    if "url" in plan:
        transport = StreamableHttpTransport(plan["url"])
    else:
        transport = StdioTransport(plan["command"], plan["args"], env=plan["env"], keep_alive=False)
    return Client(
        transport,
        mode="legacy" if plan["era"] == "legacy" else "auto",
        timeout=PATIENCE,
        init_timeout=PATIENCE,
        elicitation_handler=elicit,
        sampling_handler=sample,
        roots=[plan["root"]],
    )


async def call(agent, tool, **arguments):
    try:
        result = await agent.call_tool_mcp(plan["prefix"] + tool, arguments)
    except Exception as error:
        return {"raised": f"{type(error).__name__}: {error}"}
    seen = {"text": "\n".join(getattr(block, "text", block.type) for block in result.content)}
    seen["structured"] = result.structured_content
    seen["failed"] = result.is_error
    return seen


async def visit():
    seen = {}
    async with client() as agent:
        seen["tools"] = sorted(tool.name.removeprefix(plan["prefix"]) for tool in await agent.list_tools())
        seen["version"] = agent.session.protocol_version
        seen["echo"] = await call(agent, "echo", text="hello")
        for question in ("elicit", "sample", "roots", "interview"):
            seen[question] = await call(agent, question)
        seen["weather"] = await call(agent, "weather", city="Oslo")
    # The gateway says which server asks.
    seen["asked"] = len(asked)
    return seen


async def visit_quietly():
    async with client() as agent:
        tools = len(await agent.list_tools())
        return {"tools": tools, "echo": await call(agent, "echo", text="hello")}


async def main():
    if plan["agents"] == 1:
        return await visit()
    return await asyncio.gather(*(visit_quietly() for _ in range(plan["agents"])))


print(json.dumps(asyncio.run(main())))
