"""Tools of a host in other frameworks: each against the real package."""

import json

import helve
from conftest import run


def with_host(options, body):
    async def work():
        async with helve.Host(**options) as host:
            await host.ready()
            return await body(host)

    return run(work())


def test_langchain(demo):
    from helve.integrations.langchain import tools

    async def body(host):
        found = {tool.name: tool for tool in tools(host.scope(only=["demo/echo", "demo/fail"]))}
        assert sorted(found) == ["mcp__demo__echo", "mcp__demo__fail"]
        assert found["mcp__demo__echo"].description == "Says it again"
        assert found["mcp__demo__echo"].args["text"]["type"] == "string"
        call = {"name": "mcp__demo__echo", "args": {"text": "hi"}, "id": "1", "type": "tool_call"}
        message = await found["mcp__demo__echo"].ainvoke(call)
        assert (message.content, message.tool_call_id, message.status) == ("hi", "1", "success")
        failed = await found["mcp__demo__fail"].ainvoke({**call, "name": "mcp__demo__fail", "args": {}})
        assert (failed.content, failed.status) == ("it does not work", "error")

    with_host(demo, body)


def test_pydantic_ai(demo):
    from helve.integrations.pydantic_ai import toolset
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import FunctionModel

    seen = []

    def model(messages, info):
        seen.append([tool.name for tool in info.function_tools])
        last = messages[-1].parts[-1]
        if isinstance(last, ToolReturnPart):
            return ModelResponse(parts=[TextPart(f"it said {last.content}")])
        return ModelResponse(parts=[ToolCallPart("mcp__demo__echo", {"text": "hi"})])

    async def body(host):
        agent = Agent(FunctionModel(model), toolsets=[toolset(host.scope(only=["demo/echo"]))])
        return (await agent.run("say hi")).output

    assert with_host(demo, body) == "it said hi"
    assert seen[0] == ["mcp__demo__echo"]


def test_openai_agents(demo):
    from helve.integrations.openai_agents import tools

    async def body(host):
        (echo,) = tools(host.scope(only=["demo/echo"]))
        assert echo.params_json_schema["required"] == ["text"] and echo.description == "Says it again"
        text = await echo.on_invoke_tool(None, json.dumps({"text": "hi"}))
        wrong = await echo.on_invoke_tool(None, "{}")
        return text, wrong

    text, wrong = with_host(demo, body)
    assert text == "hi" and wrong.startswith("INVALID_PARAMS")
