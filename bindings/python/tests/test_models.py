"""What models get: tool lists, answers, scopes."""

import json

import pytest

import helve
from conftest import run


def with_host(options, body):
    async def work():
        async with helve.Host(**options) as host:
            await host.ready()
            return await body(host)

    return run(work())


async def listed(host, provider):
    return host.tools(provider)


def test_tools_for_anthropic(demo):
    tools = with_host(demo, lambda host: listed(host, "anthropic"))
    echo = next(tool for tool in tools if tool["name"] == "mcp__demo__echo")
    assert echo["description"] == "Says it again" and echo["input_schema"]["required"] == ["text"]


def test_tools_for_openai(demo):
    tools = with_host(demo, lambda host: listed(host, "openai"))
    assert {"type": "function"}.items() <= tools[0].items() and "parameters" in tools[0]["function"]


def test_tools_for_openai_responses(demo):
    tools = with_host(demo, lambda host: listed(host, "openai-responses"))
    assert tools[0]["type"] == "function" and "parameters" in tools[0]


def test_tools_for_gemini(demo):
    tools = with_host(demo, lambda host: listed(host, "gemini"))
    assert "mcp__demo__echo" in json.dumps(tools)


def test_tools_as_servers_list_them(demo):
    tools = with_host(demo, lambda host: listed(host, "mcp"))
    add = next(tool for tool in tools if tool["name"] == "mcp__demo__add")
    assert add["outputSchema"]["required"] == ["sum"] and add["inputSchema"]["type"] == "object"


def test_an_unknown_provider(demo):
    with pytest.raises(ValueError, match="there is no provider"):
        with_host(demo, lambda host: listed(host, "nobody"))


def test_tools_do_not_wait(servers):
    async def work():
        async with helve.Host(servers=servers) as host:
            return host.tools("mcp")

    assert isinstance(run(work()), list)


def test_names(demo):
    async def names(host):
        return host.names()

    assert "demo/echo" in with_host(demo, names)


def test_a_models_call_comes_back_as_a_result(demo):
    result = with_host(demo, lambda host: host.execute("mcp__demo__echo", {"text": "hi"}))
    assert result.to_message("t1") == {"type": "tool_result", "tool_use_id": "t1", "content": "hi", "is_error": False}
    assert result.to_message("t1", "openai") == {"role": "tool", "tool_call_id": "t1", "content": "hi"}
    # Gemini knows a call by the name of its function, which the result remembers.
    assert result.to_message("t1", "gemini") == {"functionResponse": {"name": "mcp__demo__echo", "response": {"result": "hi"}}}


def test_a_models_arguments_may_be_json(demo):
    assert with_host(demo, lambda host: host.execute("mcp__demo__echo", '{"text": "hi"}')).text == "hi"


@pytest.mark.parametrize("written", ["{", "[]", "7", '{"text": NaN}'])
def test_broken_json_of_a_model_is_its_result(demo, written):
    result = with_host(demo, lambda host: host.execute("mcp__demo__echo", written))
    assert result.is_error and result.code == "INVALID_PARAMS"


def test_a_refusal_tells_a_model_no_rule_no_file_no_hint(servers, tmp_path):
    rules = [{"tool": "demo/echo", "action": "deny"}]
    result = with_host({"servers": servers, "rules": rules}, lambda host: host.execute("mcp__demo__echo", {"text": "x"}))
    assert result.is_error and result.code == "DENIED"
    assert result.text == "DENIED: `mcp__demo__echo` is refused (DENIED): it is not allowed by the person's rules"
    for secret in ("Host(", "rule 1", ".json", str(tmp_path), "helve "):
        assert secret not in result.text


def test_what_would_need_a_yes_tells_a_model_so(servers):
    result = with_host({"servers": servers}, lambda host: host.execute("mcp__demo__echo", {"text": "x"}))
    assert result.code == "APPROVAL_REQUIRED" and "needs the person's yes" in result.text


def test_a_tool_that_failed_is_a_models_result(demo):
    result = with_host(demo, lambda host: host.execute("mcp__demo__fail"))
    assert result.is_error and result.text == "it does not work"
    assert result.to_message("1")["is_error"] is True


def test_an_unknown_tool_is_a_models_result(demo):
    result = with_host(demo, lambda host: host.execute("mcp__demo__ecko", {}))
    assert result.is_error and result.code == "TOOL_NOT_FOUND"


def test_a_scope_has_fewer_tools(demo):
    async def body(host):
        scope = host.scope(only=["demo/e*"], without=["demo/exit"])
        return scope.names(), [tool["name"] for tool in scope.tools("anthropic")], await scope.tool("demo/echo", text="x")

    names, tools, text = with_host(demo, body)
    assert names == ["demo/echo"] and tools == ["mcp__demo__echo"] and text == "x"


def test_what_is_outside_of_a_scope_is_denied(demo, log):
    async def body(host):
        scope = host.scope(only=["demo/echo"])
        with pytest.raises(helve.Denied):
            await scope.tool("demo/add", a=1, b=2)
        return await scope.execute("mcp__demo__add", {"a": 1, "b": 2})

    assert with_host(demo, body).code == "DENIED"
    assert "call add" not in log.read_text()


def test_a_scope_of_a_scope_has_no_more(demo):
    async def body(host):
        return host.scope(only=["demo/echo", "demo/add"]).scope(without=["demo/add"]).scope(only=["demo/*"]).names()

    assert with_host(demo, body) == ["demo/echo"]


def test_a_scope_wants_a_list(demo):
    async def body(host):
        with pytest.raises(TypeError, match="a list of names"):
            host.scope(only="demo/echo")
        with pytest.raises(helve.ConfigError):
            host.scope(only=["demo/["])

    with_host(demo, body)


def test_options_go_with_a_scope(demo):
    async def body(host):
        with pytest.raises(helve.ToolTimeout):
            await host.using(timeout=0.2).scope(only=["demo/slow"]).tool("demo/slow")

    with_host(demo, body)


def test_a_time_that_is_none_is_a_value_error(demo):
    async def body(host):
        with pytest.raises(ValueError):
            host.using(timeout=-1)

    with_host(demo, body)


def test_tools_are_found_by_words(demo):
    async def work():
        async with helve.Host(**demo) as host:
            await host.ready()
            found = host.search("echo again")
            assert found[0]["name"] == "device.DemoMCP.echo" and "text: str" in found[0]["signature"]
            assert len(host.search("", limit=2)) == 2 and host.search("quetzalcoatl") == []
            assert host.scope(only=["demo/fail"]).search("echo") == []
            with pytest.raises(ValueError):
                host.search("echo", limit=-1)

    run(work())


def test_a_model_is_told_about_its_tools_beforehand(demo):
    async def work():
        async with helve.Host(**demo) as host:
            await host.ready()
            everything = host.system_prompt()
            assert "### DemoMCP" in everything and "device.DemoMCP.echo(text: str" in everything
            assert "device.DemoMCP.fail" not in host.scope(only=["demo/echo"]).system_prompt()
            assert len(host.system_prompt(budget=60)) < len(everything)

    run(work())
