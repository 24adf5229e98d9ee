# A server on fastmcp, for interop runs: it answers, fails, draws, counts, sleeps, asks and dies when told to.
# Usage: python workshop.py stdio | http
# Over HTTP it says on stderr which port it listens on. HELVE_NOTES names a file that gets a line for each process that
# starts and for each call that is cancelled: what arrived at a server is known to the server alone.
import asyncio
import os
import sys
import warnings

import mcp_types as types
from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.utilities.types import Image
from pydantic import BaseModel

# Sampling and roots are on their way out, and still in use.
warnings.simplefilter("ignore")

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360606060000000050001"
    "a5f645400000000049454e44ae426082"
)

server = FastMCP("workshop", instructions="A workshop for interop runs")


class Weather(BaseModel):
    city: str
    degrees: float
    tags: list[str]


def note(line):
    if path := os.environ.get("HELVE_NOTES"):
        with open(path, "a") as notes:
            notes.write(f"{line} {os.getpid()}\n")


@server.tool
def echo(text: str) -> str:
    """Gives the text back"""
    return text


@server.tool
def add(a: int, b: int = 1) -> int:
    """Adds two numbers"""
    return a + b


@server.tool
def fail(reason: str) -> str:
    """Fails for that reason"""
    raise ToolError(reason)


@server.tool
def picture() -> Image:
    """Draws one pixel"""
    return Image(data=PIXEL, format="png")


@server.tool
def weather(city: str) -> Weather:
    """Tells the weather, in a structure"""
    return Weather(city=city, degrees=21.5, tags=["dry", "windy"])


@server.tool
async def count(steps: int, ctx: Context) -> str:
    """Reports each step"""
    for step in range(1, steps + 1):
        await ctx.report_progress(step, steps, f"step {step}")
    return f"counted {steps}"


@server.tool
async def sleep(seconds: float, ctx: Context) -> str:
    """Sleeps, unless it is cancelled"""
    note("asleep")
    await ctx.report_progress(0, 1)
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        note("cancelled")
        raise
    return "slept"


@server.tool
def process() -> int:
    """Tells the id of the process"""
    return os.getpid()


@server.tool
def die() -> str:
    """Ends the process at once, without an answer"""
    os._exit(9)


@server.tool
async def elicit(ctx: Context) -> str:
    """Asks the person, by a request of its own"""
    answer = await ctx.elicit("What is your name?", response_type=str)
    return f"{answer.action}: {getattr(answer, 'data', None)}"


@server.tool
async def sample(ctx: Context) -> str:
    """Asks the model, by a request of its own"""
    messages = [types.SamplingMessage(role="user", content=types.TextContent(type="text", text="Say something"))]
    answer = await ctx.session.create_message(messages=messages, max_tokens=20)
    return f"{answer.model}: {answer.content.text}"


@server.tool
async def roots(ctx: Context) -> str:
    """Asks for the directories, by a request of its own"""
    return ", ".join(str(root.uri) for root in (await ctx.session.list_roots()).roots)


@server.tool
async def interview(ctx: Context) -> str | types.InputRequiredResult:
    """Asks all three by its result, as the modern era has it"""
    answers = ctx.input_responses
    if answers is None:
        text = types.TextContent(type="text", text="Say something")
        schema = {"type": "object", "properties": {"value": {"type": "string"}}, "required": ["value"]}
        form = types.ElicitRequestFormParams(message="What is your name?", requested_schema=schema)
        sampling = types.CreateMessageRequestParams(
            messages=[types.SamplingMessage(role="user", content=text)], max_tokens=20
        )
        requests = {
            "name": types.ElicitRequest(params=form),
            "word": types.CreateMessageRequest(params=sampling),
            "places": types.ListRootsRequest(),
        }
        return types.InputRequiredResult(input_requests=requests, request_state="asked")
    name, word, places = answers["name"], answers["word"], answers["places"]
    return f"{name.content}, {word.content.text}, {[str(root.uri) for root in places.roots]}, {ctx.request_state}"


note("started")
if sys.argv[1] == "http":
    import socket

    import uvicorn

    listener = socket.create_server(("127.0.0.1", 0))
    print(f"listens on port {listener.getsockname()[1]}", file=sys.stderr, flush=True)
    config = uvicorn.Config(server.http_app(), log_level="warning", lifespan="on", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listener])
else:
    server.run(show_banner=False)
