"""What is left after many calls and many hosts: nothing. `HELVE_LEAK_CALLS` and `HELVE_LEAK_HOSTS` say how many."""

import asyncio
import gc
import os
import pathlib

import helve
from conftest import ALLOW, run

CALLS = int(os.environ.get("HELVE_LEAK_CALLS", "10000"))
HOSTS = int(os.environ.get("HELVE_LEAK_HOSTS", "200"))


def resident():
    """Kilobytes."""
    status = pathlib.Path("/proc/self/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:")))


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def test_many_calls_leave_nothing(demo):
    async def work():
        async with helve.Host(**demo, on_record=lambda record: None) as host:
            host.skill(name="own")(lambda text: text)

            async def calls(count):
                for start in range(0, count, 50):
                    remote = (host.call("demo/echo", text=str(start + n)) for n in range(25))
                    native = (host.tool("own", text="x") for _ in range(25))
                    await asyncio.gather(*remote, *native)

            await calls(CALLS // 5)
            gc.collect()
            before, open_before, objects = resident(), descriptors(), len(gc.get_objects())
            await calls(CALLS)
            gc.collect()
            return resident() - before, descriptors() - open_before, len(gc.get_objects()) - objects

    kilobytes, opened, objects = run_long(work())
    assert kilobytes < 6_000 and opened <= 1 and objects < 500, (kilobytes, opened, objects)


def test_many_hosts_leave_nothing():
    async def hosts(count):
        for number in range(count):
            host = helve.Host(empty=True, rules=ALLOW, approve=lambda _: True)
            host.skill(name="own")(lambda: "mine")
            async with host:
                assert await host.tool("own") == "mine"

    async def work():
        await hosts(HOSTS // 5)
        gc.collect()
        before, open_before, tasks = resident(), descriptors(), len(os.listdir("/proc/self/task"))
        await hosts(HOSTS)
        gc.collect()
        return resident() - before, descriptors() - open_before, len(os.listdir("/proc/self/task")) - tasks

    kilobytes, opened, threads = run_long(work())
    assert kilobytes < 6_000 and opened <= 1 and threads <= 4, (kilobytes, opened, threads)


def test_many_loops_leave_nothing():
    async def work():
        async with helve.Host(empty=True, rules=ALLOW) as host:
            return host.names()

    for _ in range(20):
        run(work())
    gc.collect()
    before = descriptors()
    for _ in range(50):
        run(work())
    gc.collect()
    assert descriptors() - before <= 1


def run_long(work):
    async def bounded():
        return await asyncio.wait_for(work, 600)

    return asyncio.run(bounded())
