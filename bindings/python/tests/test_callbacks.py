"""What a host asks a program, and what it tells it: approvals, questions of servers, progress, logs, records."""

import asyncio
import json
import logging

import pytest

import helve
from conftest import ALLOW, run, until


def with_host(options, body):
    async def work():
        async with helve.Host(**options) as host:
            return await body(host)

    return run(work())


def test_what_no_rule_allows_needs_an_approval(servers):
    with pytest.raises(helve.ApprovalRequired) as caught:
        with_host({"servers": servers}, lambda host: host.tool("demo/echo", text="x"))
    assert caught.value.code == "APPROVAL_REQUIRED" and caught.value.hints


def test_a_plain_callback_approves(servers):
    requests = []

    def approve(request):
        requests.append(request)
        return True

    assert with_host({"servers": servers, "approve": approve}, lambda host: host.tool("demo/echo", text="x")) == "x"
    (request,) = requests
    assert isinstance(request, helve.ApprovalRequest)
    assert (request.name, request.server, request.tool, request.kind) == ("demo/echo", "demo", "echo", "tool")
    assert request.arguments == {"text": "x"} and request.caller == "a script" and request.risk in ("low", "medium", "high")
    assert "demo/echo" in request.question and "ApprovalRequest(name='demo/echo'" in repr(request)


def test_a_coroutine_function_approves(servers):
    async def approve(request):
        await asyncio.sleep(0)
        return helve.Answer.ONCE

    assert with_host({"servers": servers, "approve": approve}, lambda host: host.tool("demo/echo", text="x")) == "x"


def test_a_yes_for_the_run_is_asked_for_once(servers):
    asked = []

    def approve(request):
        asked.append(request.name)
        return helve.Answer.RUN

    async def body(host):
        return [await host.tool("demo/echo", text=text) for text in "abc"]

    assert with_host({"servers": servers, "approve": approve}, body) == ["a", "b", "c"]
    assert asked == ["demo/echo"]


def test_a_yes_for_good_is_kept_for_the_person(tmp_path, stranger, servers):
    config = stranger / ".config" / "helve" / "helve.toml"
    config.parent.mkdir(parents=True)
    entry = servers["demo"]
    config.write_text(f"[servers.demo]\ncommand = {json.dumps(entry['command'])}\nargs = {json.dumps(entry['args'])}\n")
    asked = []

    def approve(request):
        asked.append(request.name)
        return helve.Answer.ALWAYS

    for _ in range(2):
        assert with_host({"approve": approve}, lambda host: host.tool("demo/echo", text="x")) == "x"
    assert asked == ["demo/echo"]
    assert "demo" in (stranger / ".local" / "state" / "helve" / "approvals.json").read_text()


def test_a_yes_about_a_programs_own_servers_is_not_kept(servers, stranger):
    with_host({"servers": servers, "approve": lambda _: helve.Answer.ALWAYS}, lambda host: host.tool("demo/echo", text="x"))
    assert not (stranger / ".local" / "state").exists()


@pytest.mark.parametrize("answer", [False, None, "yes", 1, "once", helve.Answer.NO, object(), [True]])
def test_whatever_is_not_an_answer_is_a_no(servers, log, answer):
    with pytest.raises(helve.Denied):
        with_host({"servers": servers, "approve": lambda _: answer}, lambda host: host.tool("demo/echo", text="x"))
    assert "call echo" not in log.read_text()


def test_a_callback_that_raises_is_a_no_and_is_logged(servers, caplog):
    def approve(request):
        raise RuntimeError("broken")

    with caplog.at_level(logging.ERROR, "helve"), pytest.raises(helve.Denied):
        with_host({"servers": servers, "approve": approve}, lambda host: host.tool("demo/echo", text="x"))
    assert "approve" in caplog.text and "broken" in caplog.text


def test_a_callback_that_is_cancelled_is_a_no(servers):
    async def approve(request):
        raise asyncio.CancelledError

    with pytest.raises(helve.Denied):
        with_host({"servers": servers, "approve": approve}, lambda host: host.tool("demo/echo", text="x"))


def test_a_call_that_is_cancelled_cancels_its_question(servers):
    began, ended = asyncio.Event(), []

    async def approve(request):
        began.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended.append(True)
            raise

    async def body(host):
        call = asyncio.create_task(host.tool("demo/echo", text="x"))
        await began.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await until(lambda: ended)

    with_host({"servers": servers, "approve": approve}, body)


def test_a_model_is_asked_for_too(servers):
    asked = []

    def approve(request):
        asked.append(request.caller)
        return True

    result = with_host({"servers": servers, "approve": approve}, lambda host: host.execute("mcp__demo__echo", {"text": "x"}))
    assert result.text == "x" and asked == ["an agent"]


def test_rules_decide_before_anybody_is_asked(servers):
    def approve(request):
        raise AssertionError("nobody is asked")

    options = {"servers": servers, "rules": [{"tool": "demo/echo", "action": "allow"}], "approve": approve}
    assert with_host(options, lambda host: host.tool("demo/echo", text="x")) == "x"


def test_a_rule_that_denies(servers):
    options = {"servers": servers, "rules": [{"tool": "demo/echo", "action": "deny"}], "approve": lambda _: True}
    with pytest.raises(helve.Denied) as caught:
        with_host(options, lambda host: host.tool("demo/echo", text="x"))
    assert caught.value.server == "demo" and caught.value.tool == "echo"


def test_progress_comes_in_order_before_the_result(demo):
    seen = []
    text = with_host(demo, lambda host: host.using(on_progress=seen.append).tool("demo/steps", count=5))
    assert text == "done"
    assert [(told.progress, told.total, told.message) for told in seen] == [(n, 5, f"step {n}") for n in range(1, 6)]


def test_progress_may_be_told_to_a_coroutine_function(demo):
    seen = []

    async def told(progress):
        seen.append(progress.progress)

    async def body(host):
        await host.using(on_progress=told).tool("demo/steps", count=2)
        await until(lambda: len(seen) == 2)

    with_host(demo, body)


def test_cancelling_the_task_cancels_the_call_at_its_server(demo, log):
    async def body(host):
        call = asyncio.create_task(host.tool("demo/slow"))
        await until(lambda: "call slow" in log.read_text())
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await until(lambda: "cancelled" in log.read_text())
        return await host.tool("demo/echo", text="still here")

    assert with_host(demo, body) == "still here"


def test_a_time_out_of_asyncio_cancels_the_call_at_its_server(demo, log):
    async def body(host):
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(host.tool("demo/slow"), 0.3)
        await until(lambda: "cancelled" in log.read_text())

    with_host(demo, body)


def test_a_server_asks_a_person(demo):
    requests = []

    def elicit(request):
        requests.append(request)
        return {"city": "Lisbon"}

    answer = json.loads(with_host({**demo, "elicit": elicit}, lambda host: host.tool("demo/ask")))
    assert answer == {"action": "accept", "content": {"city": "Lisbon"}}
    (request,) = requests
    assert request.server == "demo" and request.message == "Which city?" and request.url is None
    assert request.schema["properties"]["city"] == {"type": "string"}


@pytest.mark.parametrize("answer, action", [(None, "decline"), (False, "decline"), ("decline", "decline"), ("cancel", "cancel")])
def test_a_person_who_does_not_answer(demo, answer, action):
    told = json.loads(with_host({**demo, "elicit": lambda _: answer}, lambda host: host.tool("demo/ask")))
    assert told["action"] == action


def test_an_elicit_callback_that_raises_cancels(demo):
    def elicit(request):
        raise RuntimeError("broken")

    told = json.loads(with_host({**demo, "elicit": elicit}, lambda host: host.tool("demo/ask")))
    assert told["action"] == "cancel"


def test_servers_are_told_what_they_may_ask(demo, log):
    with_host({**demo, "elicit": lambda _: None}, lambda host: host.tool("demo/echo", text="x"))
    capabilities = [line for line in log.read_text().splitlines() if line.startswith("capabilities")]
    assert "elicitation" in capabilities[0] and "sampling" not in capabilities[0]


def test_a_server_asks_for_a_model(demo):
    async def sample(request):
        assert request.messages[0]["content"]["text"] == "2 + 2?"
        return "4"

    answer = json.loads(with_host({**demo, "sample": sample}, lambda host: host.tool("demo/think")))
    assert answer["role"] == "assistant" and answer["content"] == {"type": "text", "text": "4"}


def test_a_model_may_answer_in_full(demo):
    message = {"role": "assistant", "content": {"type": "text", "text": "4"}, "model": "mine", "stopReason": "endTurn"}
    answer = json.loads(with_host({**demo, "sample": lambda _: message}, lambda host: host.tool("demo/think")))
    assert answer["model"] == "mine"


def test_a_model_that_fails_is_an_error_for_the_server(demo):
    def sample(request):
        raise RuntimeError("out of tokens")

    answer = json.loads(with_host({**demo, "sample": sample}, lambda host: host.tool("demo/think")))
    assert "error" in answer


def test_what_servers_log(demo):
    lines = []

    async def body(host):
        await host.tool("demo/chatter")
        await until(lambda: lines)

    with_host({**demo, "on_log": lines.append}, body)
    assert (lines[0].server, lines[0].level, lines[0].logger, lines[0].data) == ("demo", "info", "demo", "hm")


def test_every_call_is_recorded_whichever_way_it_ended(demo):
    records = []

    async def body(host):
        await host.tool("demo/echo", text="x")
        await host.call("demo/fail")
        with pytest.raises(helve.InvalidParams):
            await host.tool("demo/add", a=1)
        with pytest.raises(helve.ToolNotFound):
            await host.tool("demo/nothing")
        await host.execute("mcp__demo__echo", {"text": "y"})

    with_host({**demo, "on_record": records.append}, body)
    ends = [(record.asked, record.end, record.code) for record in records]
    assert ends == [
        ("demo/echo", "done", None),
        ("demo/fail", "done", "TOOL_ERROR"),
        ("demo/add", "failed", "INVALID_PARAMS"),
        ("demo/nothing", "failed", "TOOL_NOT_FOUND"),
        ("mcp__demo__echo", "done", None),
    ]
    assert records[0].caller == "a script" and records[-1].caller == "an agent"
    assert records[0].decided_by and records[0].attempts == 1 and records[0].result_bytes > 0
    assert len({record.id for record in records}) == 5


def test_rules_are_those_of_helve_toml(servers):
    rules = [{"tool": "demo/echo", "pattern": "text=ok*", "action": "allow"}, *({"tool": rule["tool"], "action": "deny"} for rule in ALLOW)]

    async def body(host):
        assert await host.tool("demo/echo", text="ok then") == "ok then"
        with pytest.raises(helve.Denied):
            await host.tool("demo/echo", text="no")

    with_host({"servers": servers, "rules": rules}, body)
