"""helve beside the official client and fastmcp, interleaved in one run: `python compare.py`, where all three are installed.

The server is the program of the wheel with its built-in tools, so that none of the clients is measured with a server of its own.
"""

import asyncio
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import helve
from helve import _program

ROUNDS = 7
CALLS = 300
IN_FLIGHT = 64
BATCHES = 20
LARGE = 1_000_000
ALLOW = [{"tool": "*/*", "action": "allow"}]


def commands(directory):
    """Two servers: one whose tool takes next to no time, one that reads a large file."""
    return {"time": [_program.path(), "builtin", "time"], "files": [_program.path(), "builtin", "filesystem", str(directory)]}


class Helve:
    name = "helve"

    async def open(self, directory):
        servers = {name: {"command": line[0], "args": line[1:]} for name, line in commands(directory).items()}
        self.host = helve.Host(servers=servers, rules=ALLOW)
        await self.host.start()
        await self.host.ready("time")
        await self.host.ready("files")
        self.whole = self.host.using(uncut=True)

    async def small(self):
        return (await self.host.call("time/now")).text

    async def large(self):
        return (await self.whole.call("files/read_file", {"path": "large.txt"})).text

    async def close(self):
        await self.host.aclose()


class Official:
    name = "mcp"

    async def open(self, directory):
        from contextlib import AsyncExitStack

        from mcp import ClientSession, StdioServerParameters
        from mcp.client.stdio import stdio_client

        self.stack = AsyncExitStack()
        self.sessions = {}
        for name, (program, *arguments) in commands(directory).items():
            parameters = StdioServerParameters(command=program, args=arguments)
            streams = await self.stack.enter_async_context(stdio_client(parameters))
            session = self.sessions[name] = await self.stack.enter_async_context(ClientSession(*streams))
            await session.initialize()
            await session.list_tools()

    async def small(self):
        return (await self.sessions["time"].call_tool("now", {})).content[0].text

    async def large(self):
        return (await self.sessions["files"].call_tool("read_file", {"path": "large.txt"})).content[0].text

    async def close(self):
        await self.stack.aclose()


class Fast:
    name = "fastmcp"

    async def open(self, directory):
        from fastmcp import Client
        from fastmcp.client.transports import StdioTransport

        self.clients = {}
        for name, (program, *arguments) in commands(directory).items():
            client = self.clients[name] = Client(StdioTransport(command=program, args=arguments))
            await client.__aenter__()
            await client.list_tools()

    async def small(self):
        return (await self.clients["time"].call_tool("now", {})).content[0].text

    async def large(self):
        return (await self.clients["files"].call_tool("read_file", {"path": "large.txt"})).content[0].text

    async def close(self):
        for client in self.clients.values():
            await client.__aexit__(None, None, None)


async def small(client):
    started = time.perf_counter()
    for _ in range(CALLS):
        await client.small()
    return (time.perf_counter() - started) / CALLS


async def many(client):
    started = time.perf_counter()
    for _ in range(BATCHES):
        await asyncio.gather(*(client.small() for _ in range(IN_FLIGHT)))
    return (time.perf_counter() - started) / (BATCHES * IN_FLIGHT)


async def large(client):
    started = time.perf_counter()
    for _ in range(5):
        assert len(await client.large()) >= LARGE
    return (time.perf_counter() - started) / 5


async def measure(kinds):
    with tempfile.TemporaryDirectory() as directory:
        (pathlib.Path(directory) / "large.txt").write_text("lines of text\n" * (LARGE // 14 + 1))
        clients = [kind() for kind in kinds]
        for client in clients:
            await client.open(directory)
            await client.small()
        times = {}
        for _ in range(ROUNDS):
            for work in (small, many, large):
                for client in clients:
                    times.setdefault((work.__name__, client.name), []).append(await work(client))
        for client in reversed(clients):
            await client.close()
    return times


def import_time(module):
    """The least of many imports, without the time of the interpreter itself."""
    def least(statement):
        runs = []
        for _ in range(15):
            started = time.perf_counter()
            subprocess.run([sys.executable, "-I", "-c", statement], check=True, env={**os.environ})
            runs.append(time.perf_counter() - started)
        return min(runs)

    return least(f"import {module}") - least("pass")


def main():
    kinds = [Helve, Official, Fast]
    times = asyncio.run(measure(kinds))
    table = {}
    for work in ("small", "many", "large"):
        for kind in kinds:
            values = times[work, kind.name]
            ratios = [value / other for value, other in zip(values, times[work, "mcp"])]
            table[f"{work} {kind.name}"] = {
                "median_us": round(statistics.median(values) * 1e6, 1),
                "against_mcp": round(statistics.median(ratios), 3),
            }
    for module in ("helve", "mcp", "fastmcp"):
        table[f"import {module}"] = {"ms": round(import_time(module) * 1e3, 1)}
    print(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()
