"""Programs that models write: in them every tool is a function."""

import asyncio

import pytest

import helve
import helve.sync
from conftest import ALLOW, run, until

SUM = "print('adding')\nsum(device.DemoMCP.add(a=n, b=n)['sum'] for n in range(4))"


def test_a_program_gives_its_value(demo):
    async def work():
        async with helve.Host(**demo) as host:
            await host.ready()
            done = await host.run(SUM)
            assert (done.value, done.printed, done.error) == (12, "adding\n", None)
            assert [(call.tool, call.ok, call.code) for call in done.calls] == [("demo/add", True, None)] * 4
            assert done.text == "12\nprinted:\nadding"
            # It is among the tools from now on, and a model can call it.
            answer = await host.execute("helve/run_code", {"code": "1 + 1"})
            assert answer.text == "2"

    run(work())


def test_the_same_without_a_loop(demo):
    with helve.sync.Host(**demo) as host:
        host.ready()
        assert host.run(SUM).value == 12
        assert host.scope(only=["demo/echo", "helve/*"]).run("device.DemoMCP.echo('x')").value == "x"


def test_what_went_wrong_can_be_raised(demo):
    with helve.sync.Host(**demo) as host:
        host.ready()
        done = host.run("device.DemoMCP.echo('x')\n[][1]")
        assert [call.tool for call in done.calls] == ["demo/echo"]
        with pytest.raises(helve.ToolError, match=r"IndexError: list index out of range \(line 2\)") as caught:
            raise done.error
        assert caught.value.code == "TOOL_ERROR"
        refused = host.run("import os\ndevice.DemoMCP.nothing()")
        assert not refused.calls and "line 1" in str(refused.error) and "line 2" in str(refused.error)


def test_a_call_inside_is_decided_as_any_other(servers):
    asked = []

    def approve(request):
        asked.append((request.name, request.caller))
        return False

    with helve.sync.Host(servers=servers, approve=approve) as host:
        host.ready()
        done = host.run("device.DemoMCP.echo('x')")
        assert isinstance(done.error, helve.Denied) and asked and asked[0][1] == "an agent"
    with helve.sync.Host(servers=servers, rules=[{"tool": "helve/run_code", "action": "deny"}, *ALLOW]) as host:
        host.ready()
        with pytest.raises(helve.Denied):
            host.run("1")


def test_a_scope_holds_inside(demo):
    with helve.sync.Host(**demo) as host:
        host.ready()
        done = host.scope(only=["demo/echo", "helve/*"]).run("device.DemoMCP.add(a=1, b=2)")
        assert isinstance(done.error, (helve.ToolNotFound, helve.ServerNotFound)) and not done.calls


def test_progress_is_told_call_by_call(demo):
    told = []
    with helve.sync.Host(**demo) as host:
        host.ready()
        host.using(on_progress=lambda progress: told.append(progress.message)).run(SUM)
    assert len(told) == 4 and told[0].startswith("1: demo/add ")


def test_cancelling_ends_the_program_and_its_calls(demo, log):
    async def work():
        async with helve.Host(**demo) as host:
            await host.ready()
            task = asyncio.create_task(host.run("device.DemoMCP.slow()"))
            await until(lambda: "slow" in log.read_text())
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await until(lambda: "cancelled" in log.read_text())

    run(work())


def test_no_python_is_said(demo):
    with helve.sync.Host(**demo, settings={"code": {"python": "/nowhere/python3"}}) as host:
        with pytest.raises(helve.ConfigError, match="/nowhere/python3"):
            host.run("1")
