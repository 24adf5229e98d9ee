# A client on fastmcp, for benchmarks.
# Usage: python bench-client.py call|ready|hold COUNT SERVER [ARGUMENT...]
# call: one cold call, its text on stdout. ready: seconds until COUNT servers are connected and listed.
# hold: resident bytes with COUNT connected servers.
import asyncio
import re
import sys
import time
from contextlib import AsyncExitStack

from fastmcp import Client
from fastmcp.client.transports import StdioTransport

what, count, command, *arguments = sys.argv[1:]


def client():
    return Client(StdioTransport(command, arguments, keep_alive=False))


async def call():
    async with client() as connected:
        result = await connected.call_tool("echo", {"text": "hello", "path": "/srv/project"})
        print(result.content[0].text)


async def connect(stack):
    connected = await stack.enter_async_context(client())
    await connected.list_tools()


async def many():
    start = time.perf_counter()
    async with AsyncExitStack() as stack:
        await asyncio.gather(*(connect(stack) for _ in range(int(count))))
        seconds = time.perf_counter() - start
        with open("/proc/self/smaps_rollup") as rollup:
            resident = int(re.search(r"^Rss:\s+(\d+)", rollup.read(), re.M)[1]) * 1024
        print(seconds if what == "ready" else resident)


asyncio.run(call() if what == "call" else many())
