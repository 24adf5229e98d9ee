"""Python functions as tools."""

import asyncio
import dataclasses
import enum
import typing

import pytest

import helve
from conftest import ALLOW, run, until


def with_host(body, **options):
    host = helve.Host(empty=True, rules=ALLOW, **options)

    async def work():
        async with host:
            return await body(host)

    return host, lambda: run(work())


def test_a_function_is_a_tool():
    async def body(host):
        return await host.tool("greet", who="you", times=2)

    host, go = with_host(body)

    @host.skill
    async def greet(who: str, times: int = 1) -> str:
        """Greets somebody."""
        return ", ".join([f"hello {who}"] * times)

    assert go() == "hello you, hello you"


def test_what_a_model_sees_of_a_function():
    async def body(host):
        return host.tools("mcp")

    host, go = with_host(body)

    @host.skill(read_only=True)
    def greet(who: typing.Annotated[str, "Who is greeted"], times: int = 1):
        """Greets somebody.

        As often as you like.
        """

    (tool,) = go()
    assert tool["name"] == "greet" and tool["description"] == "Greets somebody.\n\nAs often as you like."
    assert tool["inputSchema"] == {
        "type": "object",
        "properties": {
            "who": {"type": "string", "description": "Who is greeted"},
            "times": {"type": "integer", "default": 1},
        },
        "additionalProperties": False,
        "required": ["who"],
    }
    assert tool["annotations"] == {"readOnlyHint": True}


def test_a_function_may_be_added_while_the_host_runs():
    async def body(host):
        @host.skill(name="double", description="Twice as much")
        def twice(number: int):
            return number * 2

        return await host.tool("double", number=21)

    _, go = with_host(body)
    assert go() == 42


def test_a_function_with_the_same_name_replaces_the_first():
    async def body(host):
        @host.skill(name="same")
        def second():
            return "second"

        return await host.tool("same")

    host, go = with_host(body)
    host.skill(name="same")(lambda: "first")
    assert go() == "second"


@pytest.mark.parametrize(
    "value, text, structured",
    [
        ("text", "text", None),
        (None, "done", None),
        ({"a": 1}, '{"a":1}', {"a": 1}),
        ([1, 2], "[1,2]", [1, 2]),
        (7, "7", 7),
        (True, "true", True),
    ],
)
def test_what_a_function_returns(value, text, structured):
    async def body(host):
        return await host.call("give")

    host, go = with_host(body)
    host.skill(name="give")(lambda: value)
    result = go()
    assert (result.text, result.structured, result.is_error) == (text, structured, False)


def test_a_function_that_raises_has_failed_and_not_broken():
    async def body(host):
        with pytest.raises(helve.ToolError, match="no such town"):
            await host.tool("find", town="x")
        return await host.execute("find", {"town": "x"})

    host, go = with_host(body)

    @host.skill
    async def find(town: str):
        raise LookupError("no such town")

    result = go()
    assert result.is_error and result.text == "no such town"


def test_a_missing_key_is_told_as_one(demo):
    host = helve.Host(**demo)

    @host.skill
    def look() -> str:
        return {}["town"]

    async def work():
        async with host:
            return await host.call("look")

    assert run(work()).text == "KeyError: 'town'"


def test_a_result_without_a_json_form_is_a_failure():
    async def body(host):
        return await host.call("odd")

    host, go = with_host(body)
    host.skill(name="odd")(lambda: object())
    assert go().is_error


def test_arguments_are_checked_before_the_function_runs():
    ran = []

    async def body(host):
        with pytest.raises(helve.InvalidParams):
            await host.tool("greet", who=1)
        with pytest.raises(helve.InvalidParams):
            await host.tool("greet", who="a", more=1)

    host, go = with_host(body)

    @host.skill
    def greet(who: str):
        ran.append(who)

    go()
    assert ran == []


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


def test_annotations_of_many_kinds():
    async def body(host):
        tool = host.tools("mcp")[0]["inputSchema"]["properties"]
        return tool, await host.tool("many", colour="red", point={"x": 3}, mode="a", names=["p"], table={"k": 1}, maybe=None)

    host, go = with_host(body)

    @host.skill
    def many(
        colour: Colour,
        point: Point,
        mode: typing.Literal["a", "b"],
        names: list[str],
        table: dict[str, int],
        maybe: int | None,
        anything=None,
    ):
        assert colour is Colour.RED and point == Point(3)
        return "fine"

    properties, text = go()
    assert text == "fine"
    assert properties["colour"] == {"type": "string", "enum": ["red", "blue"]}
    assert properties["point"]["required"] == ["x"]
    assert properties["mode"] == {"type": "string", "enum": ["a", "b"]}
    assert properties["names"] == {"type": "array", "items": {"type": "string"}}
    assert properties["table"] == {"type": "object", "additionalProperties": {"type": "integer"}}
    assert properties["maybe"] == {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert properties["anything"] == {}


@pytest.mark.parametrize("function", [lambda *words: 1, lambda **words: 1])
def test_parameters_that_cannot_be_given_by_name_are_refused(function):
    with pytest.raises(TypeError, match="given by name"):
        helve.Host(empty=True).skill(name="odd")(function)


def test_a_function_without_a_name_is_refused():
    with pytest.raises(TypeError, match="needs one"):
        helve.Host(empty=True).skill(lambda: 1)


def test_functions_are_under_the_same_rules():
    async def work():
        host = helve.Host(empty=True, rules=[{"tool": "native/danger", "action": "deny"}])
        host.skill(name="danger")(lambda: "boom")
        host.skill(name="unknown")(lambda: "boom")
        host.skill(name="safe", read_only=True)(lambda: "fine")
        async with host:
            with pytest.raises(helve.Denied):
                await host.tool("danger")
            with pytest.raises(helve.ApprovalRequired):
                await host.tool("unknown")
            return await host.tool("safe")

    assert run(work()) == "fine"


def test_a_call_that_is_cancelled_cancels_its_function():
    began, ended = asyncio.Event(), []

    async def body(host):
        call = asyncio.create_task(host.tool("wait"))
        await began.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await until(lambda: ended)

    host, go = with_host(body)

    @host.skill
    async def wait():
        began.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)

    go()


def test_what_a_function_calls_stays_within_the_scope_of_its_caller(servers):
    async def work():
        host = helve.Host(servers=servers, rules=ALLOW)

        @host.skill
        async def sneaky() -> str:
            return (await host.call("demo/echo", text="out")).text

        async with host:
            await host.ready()
            free = await host.tool("sneaky")
            with pytest.raises(helve.ToolError, match="demo/echo"):
                await host.scope(only=["sneaky"]).tool("sneaky")
            return free

    assert run(work()) == "out"


def test_records_name_the_call_that_a_call_was_made_in(servers):
    records = []

    async def work():
        host = helve.Host(servers=servers, rules=ALLOW, on_record=records.append)

        @host.skill
        async def outer() -> str:
            return str(await host.tool("demo/echo", text="in"))

        async with host:
            await host.ready()
            return await host.tool("outer")

    assert run(work()) == "in"
    inner, outer = records
    assert inner.parent == outer.id and outer.parent is None


def test_functions_stand_beside_servers_for_a_model(servers):
    async def work():
        host = helve.Host(servers=servers, rules=ALLOW)
        host.skill(name="own")(lambda: "mine")
        async with host:
            await host.ready()
            names = [tool["name"] for tool in host.tools("anthropic")]
            return names, (await host.execute("own", {})).text

    names, text = run(work())
    assert "own" in names and "mcp__demo__echo" in names and text == "mine"


def test_a_function_may_return_a_result(servers):
    async def work():
        host = helve.Host(servers=servers, rules=ALLOW)

        @host.skill
        async def passed_on():
            return await host.call("demo/picture")

        async with host:
            await host.ready()
            return await host.call("passed_on")

    assert run(work()).content[0]["type"] == "image"


def test_an_annotation_that_cannot_be_read_is_told():
    def odd(value):
        pass

    odd.__annotations__ = {"value": "Nowhere"}
    with pytest.raises(TypeError, match="cannot be read"):
        helve.Host(empty=True).skill(odd)
