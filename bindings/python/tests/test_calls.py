"""Calls: names, arguments, results, errors."""

import asyncio
import enum
import json
import pickle
import sys
import traceback

import pytest

import helve
from conftest import run


def with_host(options, body):
    async def work():
        async with helve.Host(**options) as host:
            return await body(host)

    return run(work())


@pytest.mark.parametrize("name", ["demo/echo", "demo:echo", "mcp__demo__echo", "device.DemoMCP.echo", "echo"])
def test_a_tool_is_called_in_any_spelling(demo, name):
    assert with_host(demo, lambda host: host.tool(name, {"text": "hello"})) == "hello"


def test_arguments_by_name(demo):
    assert with_host(demo, lambda host: host.tool("demo/echo", text="hello")) == "hello"


def test_arguments_named_like_our_own_parameters_are_the_tools(demo):
    given = {"name": 1, "arguments": 2, "timeout": 3, "self": 4, "provider": 5}
    assert json.loads(with_host(demo, lambda host: host.tool("demo/arguments", **given))) == given


def test_arguments_as_a_mapping_and_by_name_are_refused(demo):
    with pytest.raises(TypeError, match="not both"):
        with_host(demo, lambda host: host.tool("demo/echo", {"text": "a"}, text="b"))


def test_the_structured_value_is_preferred(demo):
    assert with_host(demo, lambda host: host.tool("demo/add", a=2, b=3)) == {"sum": 5}


def test_the_whole_result(demo):
    result = with_host(demo, lambda host: host.call("demo/add", a=2, b=3))
    assert isinstance(result, helve.Result)
    assert (result.text, result.structured, result.is_error, result.code) == ("5", {"sum": 5}, False, None)
    assert result.content == [{"type": "text", "text": "5"}]
    assert (result.server, result.tool, result.from_cache, result.warnings) == ("demo", "add", False, [])
    assert 0 < result.duration < 60
    assert result.raw["structuredContent"] == {"sum": 5} and json.loads(result.to_json()) == result.raw
    assert str(result) == "5" and repr(result).startswith("<helve.Result of demo/add: ")


def test_content_that_is_not_text(demo):
    result = with_host(demo, lambda host: host.call("demo/picture"))
    assert result.text == "[image image/png, 2 bytes]\nhi"
    assert result.content[0] == {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    assert result.structured is None and result.meta is None


def test_a_tool_that_failed_is_a_result_of_call(demo):
    result = with_host(demo, lambda host: host.call("demo/fail"))
    assert result.is_error and result.text == "it does not work" and result.code == "TOOL_ERROR"
    assert repr(result) == "<helve.Result of demo/fail: TOOL_ERROR>"


def test_a_tool_that_failed_is_an_exception_of_tool(demo):
    with pytest.raises(helve.ToolError, match="it does not work") as caught:
        with_host(demo, lambda host: host.tool("demo/fail"))
    assert (caught.value.code, caught.value.server, caught.value.tool) == ("TOOL_ERROR", "demo", "fail")


def test_numbers_and_texts_survive(demo):
    given = {"big": 2**80, "small": -(2**70), "float": 0.1, "text": 'ünï "quoted" \u2028 \U0001f600', "none": None, "yes": True}
    assert json.loads(with_host(demo, lambda host: host.tool("demo/arguments", given))) == given


def test_values_that_json_does_not_know(demo, tmp_path):
    import dataclasses
    import datetime

    class Colour(enum.Enum):
        RED = "red"

    @dataclasses.dataclass
    class Point:
        x: int

    given = {"colour": Colour.RED, "point": Point(1), "path": tmp_path, "set": {2, 1}, "day": datetime.date(2026, 1, 2)}
    sent = json.loads(with_host(demo, lambda host: host.tool("demo/arguments", given)))
    assert sent == {"colour": "red", "point": {"x": 1}, "path": str(tmp_path), "set": [1, 2], "day": "2026-01-02"}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), b"bytes"])
def test_values_without_a_json_form_are_refused(demo, value):
    with pytest.raises(helve.InvalidParams, match="cannot be written as JSON"):
        with_host(demo, lambda host: host.tool("demo/arguments", {"value": value}))


def test_arguments_that_contain_themselves_are_refused(demo):
    given = {}
    given["again"] = given
    with pytest.raises(helve.InvalidParams):
        with_host(demo, lambda host: host.tool("demo/arguments", given))


def test_arguments_that_do_not_fit_never_reach_the_tool(demo, log):
    with pytest.raises(helve.InvalidParams) as caught:
        with_host(demo, lambda host: host.tool("demo/add", a=1, b="two"))
    assert caught.value.may_have_run is False
    assert "call add" not in log.read_text()


def test_an_unknown_tool_names_what_comes_near(demo):
    with pytest.raises(helve.ToolNotFound) as caught:
        with_host(demo, lambda host: host.tool("demo/ecko", text="x"))
    assert any("demo/echo" in hint for hint in caught.value.hints), caught.value.hints


def test_an_unknown_server(demo):
    with pytest.raises(helve.ServerNotFound) as caught:
        with_host(demo, lambda host: host.tool("dmo/echo", text="x"))
    assert any("demo" in hint for hint in caught.value.hints)


def test_a_time_out(demo):
    with pytest.raises(helve.ToolTimeout) as caught:
        with_host(demo, lambda host: host.using(timeout=0.2).tool("demo/slow"))
    assert caught.value.code == "TIMEOUT" and caught.value.may_have_run is True


def test_a_total_counts_whatever_progress_says(demo):
    with pytest.raises(helve.ToolTimeout):
        with_host(demo, lambda host: host.using(total=0.2).tool("demo/slow"))


def test_a_server_that_dies_costs_its_call_an_error_and_comes_back(demo):
    async def body(host):
        with pytest.raises(helve.Error) as caught:
            await host.tool("demo/exit")
        return caught.value.code, await host.tool("demo/echo", text="back")

    code, text = with_host(demo, body)
    assert code in {"TRANSPORT_ERROR", "SERVER_UNAVAILABLE"} and text == "back"


def test_many_calls_at_once_keep_their_order(demo):
    async def body(host):
        return await asyncio.gather(*(host.tool("demo/echo", text=str(number)) for number in range(200)))

    assert with_host(demo, body) == [str(number) for number in range(200)]


def test_a_task_can_be_made_of_a_call(demo):
    async def body(host):
        return await asyncio.create_task(host.tool("demo/echo", text="x"))

    assert with_host(demo, body) == "x"


def test_a_large_result_is_whole_where_it_is_wanted(demo):
    async def body(host):
        cut = await host.call("demo/big", bytes=3_000_000)
        whole = await host.using(uncut=True).call("demo/big", bytes=3_000_000)
        return cut, whole

    cut, whole = with_host({**demo, "settings": {"result_bytes": 1_000_000}}, body)
    assert len(cut.text) < 3_000_000 and len(whole.text) == 3_000_000
    assert cut.kept_in and cut.kept_in[-1].exists()


def test_metadata_reaches_the_server(demo):
    sent = with_host(demo, lambda host: host.using(meta={"example.com/mark": "7"}).tool("demo/meta"))
    assert json.loads(sent)["example.com/mark"] == "7"


def test_there_is_a_class_for_every_code():
    from helve import _errors, _helve

    assert sorted(_errors.BY_CODE) == sorted(_helve.codes())
    assert all(getattr(helve, kind.__name__) is kind for kind in _errors.BY_CODE.values())
    assert helve.ToolTimeout.code == "TIMEOUT" and helve.ConfigError.code == "CONFIG"


def test_an_error_survives_pickling():
    error = helve.Denied("no", server="a", tool="b", hints=["do"], may_have_run=True, retry_after=2.0)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is helve.Denied and again.__dict__ == error.__dict__ and str(again) == "no"
    assert repr(error) == "Denied('no', code='DENIED')"


def test_a_name_that_is_not_a_text_is_a_type_error(demo):
    with pytest.raises(TypeError):
        with_host(demo, lambda host: host.tool(7))


def test_a_text_without_utf_8_is_refused(demo):
    with pytest.raises((UnicodeEncodeError, helve.InvalidParams)):
        with_host(demo, lambda host: host.tool("demo/echo", text="\ud800"))


def test_a_traceback_shows_what_to_do(demo):
    async def work():
        async with helve.Host(**demo) as host:
            await host.ready()
            await host.tool("demo/ech", text="x")

    with pytest.raises(helve.ToolNotFound) as caught:
        run(work())
    shown = "".join(traceback.format_exception(caught.value))
    assert f"helve.ToolNotFound: {caught.value}" in shown
    if sys.version_info >= (3, 11):
        assert caught.value.hints and all(f"hint: {hint}" in shown for hint in caught.value.hints)
