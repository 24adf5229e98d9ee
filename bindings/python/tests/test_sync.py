"""The host for scripts."""

import json
import os
import signal
import threading

import pytest

import helve
import helve.sync
from conftest import ALLOW


def test_calls_wait(demo):
    with helve.sync.Host(**demo) as host:
        assert host.ready()
        assert host.tool("demo:echo", {"text": "x"}) == "x"
        assert host.call("demo/add", a=1, b=2).structured == {"sum": 3}
        assert host.execute("mcp__demo__fail").is_error
        assert "demo/echo" in host.names() and host.tools("anthropic")
        assert host.servers()[0].status == "connected"
        assert repr(host) == "<helve.sync.Host of 1 server>"
    assert not host.is_running


def test_errors_are_the_same(demo):
    with helve.sync.Host(**demo) as host:
        with pytest.raises(helve.ToolError):
            host.tool("demo/fail")
        with pytest.raises(helve.ToolTimeout):
            host.using(timeout=0.2).tool("demo/slow")
        with pytest.raises(helve.Denied):
            host.scope(only=["demo/echo"]).tool("demo/add", a=1, b=2)


def test_callbacks_run_in_the_thread_that_calls(servers):
    threads = []

    def approve(request):
        threads.append(threading.current_thread())
        return True

    with helve.sync.Host(servers=servers, approve=approve) as host:
        assert host.tool("demo/echo", text="x") == "x"
    assert threads == [threading.current_thread()]


def test_callbacks_may_be_coroutine_functions(servers):
    async def approve(request):
        return True

    with helve.sync.Host(servers=servers, approve=approve) as host:
        assert host.tool("demo/echo", text="x") == "x"


def test_a_callback_may_call(servers):
    with helve.sync.Host(
        servers=servers,
        rules=[{"tool": "demo/add", "action": "allow"}],
        approve=lambda _: host.tool("demo/add", a=1, b=1) == {"sum": 2},
    ) as host:
        assert host.tool("demo/echo", text="x") == "x"


def test_functions_are_tools():
    host = helve.sync.Host(empty=True, rules=ALLOW)

    @host.skill
    def double(number: int) -> int:
        return number * 2

    @host.skill(name="later")
    async def later() -> str:
        return "now"

    with host:
        assert host.tool("double", number=4) == 8
        assert host.tool("later") == "now"


def test_progress_logs_and_records(demo):
    seen, lines, records = [], [], []
    with helve.sync.Host(**demo, on_log=lines.append, on_record=records.append) as host:
        host.using(on_progress=seen.append).tool("demo/steps", count=3)
        assert [told.progress for told in seen] == [1, 2, 3]
        host.tool("demo/chatter")
        host.tool("demo/echo", text="x")
    assert lines[0].data == "hm" and [record.tool for record in records] == ["steps", "chatter", "echo"]


def test_questions_of_servers(demo):
    with helve.sync.Host(**demo, elicit=lambda _: {"city": "Oslo"}, sample=lambda _: "4") as host:
        assert json.loads(host.tool("demo/ask"))["content"] == {"city": "Oslo"}
        assert json.loads(host.tool("demo/think"))["content"]["text"] == "4"


def test_many_threads(demo):
    texts = []
    with helve.sync.Host(**demo) as host:
        host.ready()
        work = lambda number: texts.append((number, host.tool("demo/echo", text=str(number))))
        threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
        [thread.start() for thread in threads]
        [thread.join(30) for thread in threads]
    assert sorted(texts) == [(number, str(number)) for number in range(16)]


def test_ctrl_c_ends_the_call_and_tells_the_server(demo, log):
    # Whoever runs the tests in the background has it ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with helve.sync.Host(**demo) as host:
        host.ready()

        def interrupt():
            while "call slow" not in log.read_text():
                pass
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=interrupt).start()
        with pytest.raises(KeyboardInterrupt):
            host.tool("demo/slow")
        assert host.tool("demo/echo", text="still here") == "still here"
        while "cancelled" not in log.read_text():
            pass


def test_resources_prompts_and_watches(demo):
    with helve.sync.Host(**demo) as host:
        assert [item["uri"] for item in host.resources()] == ["note:///one"]
        assert host.resource_templates("demo")[0]["uriTemplate"] == "note:///{name}"
        assert host.prompts()[0]["server"] == "demo"
        assert host.read_resource("demo", "note:///one")[0]["text"] == "a note"
        assert host.get_prompt("demo", "greet", {"who": "you"})["messages"][0]["role"] == "user"
        with host.watch("demo", "note:///one") as watch:
            host.tool("demo/touch")
            assert next(watch).change == "updated"


def test_servers_come_and_go(servers):
    with helve.sync.Host(servers={}, rules=ALLOW) as host:
        host.add_server("late", servers["demo"])
        assert host.tool("late/echo", text="x") == "x"
        host.reconnect_server("late")
        host.remove_server("late")
        assert host.servers() == []


def test_polls(demo):
    with helve.sync.Host(**demo) as host, host.poll("demo/count", every=1) as watch:
        assert watch.first["content"][0]["text"] == "1"
        assert next(watch).change == "content"
