# What every framework in Python does at a server, for `cargo xtask frameworks`: what it saw is one line of JSON on stdout.
# Usage: python visit.py PLAN
# PLAN is a JSON object:
#   url      where the server listens; or
#   command  with args and env: how it is started
#   prefix   what stands before each tool's name; taken away again from all that was seen
#   notes    the file that the server keeps notes in
# Every step is answered with what was seen or with {"raised": ..., "message": ...}; the caller compares and judges.
import asyncio
import base64
import dataclasses
import json
import os
import sys
import time

PATIENCE = 60
# A framework may never notice that its server is gone.
NOTICE = 10
# Time for a server to come back, on a busy machine.
RETURN = 40

plan = json.loads(sys.argv[1])


def run(framework):
    """`framework` connects (an asynchronous context), lists `tools` and makes a `call` with a name and arguments."""
    seen = asyncio.run(visit(framework))
    text = json.dumps(seen, sort_keys=True)
    print(text.replace(plan["prefix"], "") if plan["prefix"] else text, flush=True)
    # Some frameworks keep threads and processes that do not end by themselves.
    os._exit(0)


async def visit(framework):
    seen = {}

    async def step(name, taken, patience=PATIENCE):
        seen[name] = await outcome(taken, patience)

    try:
        async with framework.connect():
            await step("list", listed(framework))
            await step("call", call(framework, "echo", text="größer als zuvor"))
            await step("coerced", call(framework, "add", a="2", b="3"))
            await step("error", call(framework, "fail", reason="out of paper"))
            await step("wrong", call(framework, "add", a="many"))
            await step("image", call(framework, "picture"))
            await step("structured", call(framework, "weather", city="Oslo"))
            await step("progress", progress(framework))
            await step("cancel", cancel(framework))
            await step("killed", killed(framework), NOTICE + 2 * RETURN)
    except BaseException as error:
        seen["connection"] = raised(error)
    return seen


async def outcome(taken, patience):
    try:
        return dumped(await asyncio.wait_for(taken, patience))
    except BaseException as error:
        return raised(error)


async def listed(framework):
    return {tool["name"]: tool for tool in dumped(await framework.tools())}


async def call(framework, name, **arguments):
    return await framework.call(plan["prefix"] + name, arguments)


async def progress(framework):
    framework.reports.clear()
    answer = await call(framework, "count", steps=3)
    return {"reports": list(framework.reports), "answer": answer}


async def cancel(framework):
    """What the server heard of it stands in its notes."""
    before = noted("asleep"), noted("cancelled")
    calling = asyncio.create_task(call(framework, "sleep", seconds=40))
    await until(lambda: noted("asleep") > before[0])
    calling.cancel()
    try:
        ended = {"answer": dumped(await calling)}
    except asyncio.CancelledError:
        ended = {"raised": "CancelledError"}
    told = await until(lambda: noted("cancelled") > before[1], 3)
    return {"ended": ended, "told": told, "then": await call(framework, "echo", text="still here")}


async def killed(framework):
    """The server dies in the middle of a call; the next ones are made all the same."""
    died = await outcome(call(framework, "die"), NOTICE)
    end = time.monotonic() + RETURN
    while True:
        then = await outcome(call(framework, "echo", text="back again"), RETURN)
        if "back again" in json.dumps(then) or time.monotonic() > end or is_closed(then):
            return {"died": died, "then": then}
        await asyncio.sleep(0.5)


def is_closed(then):
    """Without a server behind it a connection never comes back."""
    return not plan["prefix"] and "raised" in then


async def until(holds, patience=PATIENCE):
    end = time.monotonic() + patience
    while not holds():
        if time.monotonic() > end:
            return False
        await asyncio.sleep(0.05)
    return True


def noted(word):
    try:
        with open(plan["notes"]) as notes:
            return sum(line.startswith(word) for line in notes)
    except FileNotFoundError:
        return 0


def raised(error):
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return {"raised": type(error).__name__, "message": str(error)}


def dumped(value):
    """Whatever a framework gives, as JSON."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {str(key): dumped(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [dumped(item) for item in value]
    if hasattr(value, "model_dump"):
        return dumped(value.model_dump(exclude_none=True))
    if dataclasses.is_dataclass(value):
        return {field.name: dumped(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return str(value)


class Framework:
    """What they share: where to go, and the progress that was reported."""

    def __init__(self):
        self.reports = []

    async def on_progress(self, progress, total=None, message=None, *_more):
        self.reports.append([progress, total, message])
