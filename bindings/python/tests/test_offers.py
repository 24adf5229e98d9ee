"""Resources, prompts, watches."""

import pytest

import helve
from conftest import run, until


def with_host(options, body):
    async def work():
        async with helve.Host(**options) as host:
            return await body(host)

    return run(work())


def test_resources(demo):
    listing = with_host(demo, lambda host: host.resources())
    assert isinstance(listing, helve.Listing) and listing.errors == [] and listing.warnings == []
    assert listing == [{"server": "demo", "uri": "note:///one", "name": "one", "mimeType": "text/plain"}]


def test_resources_of_servers_that_do_not_answer_are_errors_beside_the_others(demo):
    servers = {**demo["servers"], "none": {"command": "/nowhere/at-all"}}
    listing = with_host({**demo, "servers": servers}, lambda host: host.resources())
    assert len(listing) == 1 and len(listing.errors) == 1
    assert isinstance(listing.errors[0], helve.Error) and listing.errors[0].server == "none"


def test_resource_templates(demo):
    listing = with_host(demo, lambda host: host.resource_templates("demo"))
    assert listing[0]["uriTemplate"] == "note:///{name}"


def test_an_unknown_server_has_no_resources(demo):
    with pytest.raises(helve.ServerNotFound):
        with_host(demo, lambda host: host.resources("nobody"))


def test_reading_a_resource(demo):
    assert with_host(demo, lambda host: host.read_resource("demo", "note:///one")) == [{"uri": "note:///one", "text": "a note"}]


def test_reading_a_resource_that_is_not_there(demo):
    with pytest.raises(helve.ResourceNotFound):
        with_host(demo, lambda host: host.read_resource("demo", "note:///two"))


def test_resources_are_under_the_rules(demo):
    rules = [{"tool": "demo/*", "kind": "resource", "action": "deny"}]
    with pytest.raises(helve.Denied):
        with_host({**demo, "rules": rules}, lambda host: host.read_resource("demo", "note:///one"))


def test_prompts(demo):
    listing = with_host(demo, lambda host: host.prompts())
    assert listing[0]["name"] == "greet" and listing[0]["server"] == "demo"


@pytest.mark.parametrize("provider", ["anthropic", "openai", "gemini"])
def test_getting_a_prompt(demo, provider):
    prompt = with_host(demo, lambda host: host.get_prompt("demo", "greet", {"who": "you"}, provider=provider))
    assert prompt["description"] == "A greeting" and "Greet you" in str(prompt["messages"])


def test_a_prompt_without_its_arguments(demo):
    with pytest.raises(helve.InvalidParams):
        with_host(demo, lambda host: host.get_prompt("demo", "greet"))


def test_an_unknown_prompt(demo):
    with pytest.raises(helve.PromptNotFound):
        with_host(demo, lambda host: host.get_prompt("demo", "nothing"))


def test_a_watch_tells_of_changes(demo, log):
    async def body(host):
        async with host.watch("demo", "note:///one", reason="curious") as watch:
            assert watch.id.startswith("watch-")
            await host.tool("demo/touch")
            event = await watch.__anext__()
        await until(lambda: "unsubscribed" in log.read_text())
        return event

    event = with_host(demo, body)
    assert (event.server, event.target, event.reason, event.change) == ("demo", "note:///one", "curious", "updated")


def test_a_watch_is_iterated_over(demo):
    async def body(host):
        watch = await host.watch("demo", "note:///one").begin()
        await host.tool("demo/touch")
        async for event in watch:
            await watch.aclose()
        return event.change, [event async for event in watch]

    assert with_host(demo, body) == ("updated", [])


def test_a_poll_tells_when_the_result_is_another_one(demo):
    async def body(host):
        async with host.poll("demo/count", every=1) as watch:
            event = await watch.__anext__()
            return watch.first, event

    first, event = with_host(demo, body)
    assert first["content"][0]["text"] == "1"
    assert event.change == "content" and event.content["content"][0]["text"] == "2"


def test_a_poll_that_may_not_run(servers):
    async def body(host):
        async with host.poll("demo/count", every=1):
            pass

    with pytest.raises(helve.ApprovalRequired):
        with_host({"servers": servers}, body)


def test_a_poll_of_a_resource(demo):
    async def body(host):
        async with host.poll_resource("demo", "note:///one", every=5) as watch:
            return watch.first

    assert "a note" in str(with_host(demo, body))


def test_a_poll_that_is_too_fast(demo):
    async def body(host):
        await host.poll("demo/count", every=0.001).begin()

    with pytest.raises(helve.InvalidParams):
        with_host(demo, body)
