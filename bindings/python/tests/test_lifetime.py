"""From start to end: configuration, servers, processes, forks, loops, interpreters."""

import asyncio
import gc
import json
import os
import pathlib
import subprocess
import sys
import textwrap
import threading
import time
import weakref

import pytest

import helve
from conftest import ALLOW, HERE, run, until


def python(script, *arguments, **options):
    """Runs a script in an interpreter of its own."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *arguments], capture_output=True, text=True, timeout=60, **options
    )


def running(log):
    """How many test servers run that write to this file."""
    count = 0
    for process in pathlib.Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                words = command_line(process)
            except OSError:
                continue
            count += str(log).encode() in words and str(HERE / "server.py").encode() in words[1:2]
    return count


def gone(log):
    deadline = time.monotonic() + 15
    while running(log):
        assert time.monotonic() < deadline, "a server is left"
        time.sleep(0.02)
    return True


def test_a_host_says_what_it_is(demo):
    async def work():
        host = helve.Host(**demo)
        before = repr(host)
        async with host:
            await host.ready()
            during = repr(host), host.is_running
        return before, during, repr(host), host.is_running

    before, during, after, is_running = run(work())
    assert before == "<helve.Host, not started>"
    assert during == ("<helve.Host of 1 server>", True)
    assert "closed" in after and not is_running


def test_a_host_that_was_not_started_says_so(demo):
    host = helve.Host(**demo)
    for use in (host.names, host.tools, host.servers, lambda: host.scope(only=["a/b"])):
        with pytest.raises(helve.ServerUnavailable, match="not running"):
            use()
    with pytest.raises(helve.ServerUnavailable, match="not running"):
        run(host.tool("demo/echo", text="x"))


def test_a_host_that_was_closed_says_so(demo):
    async def work():
        async with helve.Host(**demo) as host:
            pass
        with pytest.raises(helve.ServerUnavailable):
            await host.tool("demo/echo", text="x")
        with pytest.raises(helve.ServerUnavailable, match="closed"):
            host.servers()
        await host.aclose()

    run(work())


def test_a_host_is_started_once(demo):
    async def work():
        host = helve.Host(**demo)
        async with host:
            with pytest.raises(helve.ServerUnavailable, match="started once"):
                await host.start()

    run(work())


def test_closing_ends_every_process(demo, log):
    async def work():
        async with helve.Host(**demo) as host:
            await host.ready("demo")
            assert running(log) == 1

    run(work())
    assert gone(log)
    assert "ended" in log.read_text()


def test_the_configuration_that_the_person_has(stranger, servers):
    (stranger / ".config" / "helve").mkdir(parents=True)
    entry = servers["demo"]
    text = f"[servers.mine]\ncommand = {json.dumps(entry['command'])}\nargs = {json.dumps(entry['args'])}\n"
    rule = '[[rules]]\ntool = "mine/*"\naction = "allow"\n'
    (stranger / ".config" / "helve" / "helve.toml").write_text(text + rule)

    async def work():
        async with helve.Host() as host:
            return await host.tool("mine/echo", text="x")

    assert run(work()) == "x"


def test_without_any_configuration_the_built_in_tools_serve(tmp_path):
    (tmp_path / "README.md").write_text("read me")

    async def work():
        async with helve.Host() as host:
            return await host.tool("filesystem:read_file", {"path": "README.md"})

    assert "read me" in str(run(work()))


def test_a_projects_servers_wait_for_trust(tmp_path, servers, log):
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))

    async def work():
        async with helve.Host() as host:
            with pytest.raises(helve.Error) as caught:
                await host.tool("demo/echo", text="x")
            return caught.value.code

    assert run(work()) in {"UNTRUSTED", "SERVER_DISABLED"}
    assert log.read_text() == ""


def test_files_that_are_named(tmp_path, servers):
    file = tmp_path / "elsewhere.json"
    file.write_text(json.dumps({"mcpServers": servers}))

    async def work(config):
        async with helve.Host(config, rules=ALLOW) as host:
            return host.servers()[0].name, await host.tool("demo/echo", text="x")

    assert run(work(file)) == ("demo", "x")
    assert run(work([str(file)])) == ("demo", "x")


def test_a_file_that_is_not_there(tmp_path):
    async def work():
        async with helve.Host(tmp_path / "nothing.json"):
            pass

    with pytest.raises(helve.ConfigError, match="there is no file"):
        run(work())


@pytest.mark.parametrize(
    "servers, words",
    [
        ({"a": {}}, ""),
        ({"a": {"comand": "x"}}, "comand"),
        ({"a": {"command": "x", "env": {"TOKEN": "${NOT_SET_ANYWHERE}"}}}, "NOT_SET_ANYWHERE"),
        ({"a": 7}, ""),
    ],
)
def test_mistakes_of_a_program_are_errors(servers, words):
    async def work():
        async with helve.Host(servers=servers):
            pass

    with pytest.raises(helve.ConfigError) as caught:
        run(work())
    assert words in str(caught.value)


def test_mistakes_in_rules_and_settings_are_errors():
    async def work(**options):
        async with helve.Host(empty=True, **options):
            pass

    with pytest.raises(helve.ConfigError):
        run(work(rules=[{"tool": "a/b", "action": "alow"}]))
    with pytest.raises(helve.ConfigError):
        run(work(settings={"call_timeot_seconds": 1}))


def test_an_empty_host_has_no_servers():
    async def work():
        async with helve.Host(empty=True) as host:
            return host.servers(), host.names()

    assert run(work()) == ([], [])
    with pytest.raises(TypeError):
        helve.Host(empty=True, servers={"a": {"command": "x"}})


def test_settings_are_those_of_helve_toml(demo):
    async def work():
        async with helve.Host(**demo, settings={"timeout_seconds": 0.2}) as host:
            with pytest.raises(helve.ToolTimeout):
                await host.tool("demo/slow")

    run(work())


def test_how_servers_are_doing(demo):
    async def work():
        async with helve.Host(**demo) as host:
            assert await host.ready() is True
            (server,) = host.servers()
            host.disable("demo")
            off = host.servers()[0].status, host.names()
            host.enable("demo")
            await host.ready("demo")
            return server, off, host.servers()[0].status

    server, off, on = run(work())
    assert (server.name, server.status, server.transport, server.tools) == ("demo", "connected", "stdio", 15)
    assert server.instructions == "Be kind." and server.server_info == {"name": "tests", "version": "1"}
    assert off == ("disabled", []) and on == "connected"


def test_a_server_that_does_not_start_says_why():
    async def work():
        async with helve.Host(servers={"none": {"command": "/nowhere/at-all"}}) as host:
            assert await host.ready() is True
            with pytest.raises(helve.Error) as caught:
                await host.ready("none")
            return host.servers()[0], caught.value

    server, error = run(work())
    assert server.status == "failed" and "/nowhere/at-all" in str(error)


def test_servers_come_and_go_while_the_host_runs(servers, log):
    async def work():
        async with helve.Host(servers={}, rules=ALLOW) as host:
            assert host.names() == []
            await host.add_server("late", servers["demo"])
            text = await host.tool("late/echo", text="x")
            await host.reconnect_server("late")
            again = await host.tool("late/echo", text="y")
            await host.remove_server("late")
            with pytest.raises(helve.ServerNotFound):
                await host.remove_server("late")
            return text, again, host.names()

    assert run(work()) == ("x", "y", [])
    assert gone(log)


def test_a_server_that_cannot_be_added(servers):
    async def work():
        async with helve.Host(servers={}) as host:
            with pytest.raises(helve.ConfigError):
                await host.add_server("odd", {"comand": "x"})
            with pytest.raises(helve.Error):
                await host.add_server("none", {"command": "/nowhere/at-all"})

    run(work())


def test_a_host_that_is_forgotten_ends_its_processes(demo, log):
    async def work():
        host = helve.Host(**demo)
        await host.start()
        await host.ready("demo")
        gone_with = weakref.ref(host)
        del host
        gc.collect()
        assert gone_with() is None
        await until(lambda: not running(log), 15)

    run(work())


def test_a_host_in_a_cycle_with_its_callback_is_collected(demo, log):
    async def work():
        host = helve.Host(**demo, on_record=lambda record: host)
        await host.start()
        await host.tool("demo/echo", text="x")
        gone_with = weakref.ref(host)
        del host
        gc.collect()
        assert gone_with() is None
        await until(lambda: not running(log), 15)

    run(work())


def test_the_end_of_the_interpreter_with_an_open_host(log, tmp_path):
    script = """
        import asyncio, sys, helve
        async def work():
            host = helve.Host(servers={"demo": {"command": sys.executable, "args": sys.argv[1:]}})
            await host.start()
            await host.ready("demo")
            globals()["kept"] = host
        asyncio.run(work())
        print("end")
    """
    started = time.monotonic()
    done = python(script, str(HERE / "server.py"), str(log))
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")
    assert time.monotonic() - started < 15
    assert gone(log)


def test_the_end_of_the_interpreter_in_the_middle_of_a_call(log):
    script = """
        import sys, threading, time, helve.sync
        host = helve.sync.Host(servers={"demo": {"command": sys.executable, "args": sys.argv[1:]}}, rules=[{"tool": "*/*", "action": "allow"}])
        host.start()
        threading.Thread(target=lambda: host.tool("demo/slow"), daemon=True).start()
        while "call slow" not in open(sys.argv[2]).read():
            time.sleep(0.01)
    """
    done = python(script, str(HERE / "server.py"), str(log))
    assert done.returncode == 0, done.stderr
    assert gone(log)


def test_a_killed_interpreter_leaves_no_process(log):
    script = """
        import asyncio, os, signal, sys, helve
        async def work():
            host = helve.Host(servers={"demo": {"command": sys.executable, "args": sys.argv[1:]}})
            await host.start()
            await host.ready("demo")
            os.kill(os.getpid(), signal.SIGKILL)
        asyncio.run(work())
    """
    done = python(script, str(HERE / "server.py"), str(log))
    assert done.returncode == -9
    assert gone(log)


def command_line(process):
    """The words of a process; none when it has ended meanwhile."""
    try:
        return (process / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def test_servers_are_held_by_the_program_of_this_package(demo, log):
    async def work():
        async with helve.Host(**demo) as host:
            await host.ready("demo")
            return [
                os.readlink(process / "exe")
                for process in pathlib.Path("/proc").iterdir()
                if process.name.isdigit() and b"__warden" in command_line(process)
                and os.stat(process).st_uid == os.getuid()
            ]

    from helve import _program

    assert os.path.realpath(_program.path()) in run(work())
    assert os.path.realpath(sys.executable) != os.path.realpath(_program.path())


def test_an_import_starts_no_thread_and_reads_nothing():
    script = """
        import os, sys, threading
        opened = []
        sys.addaudithook(lambda event, arguments: opened.append(str(arguments[0])) if event == "open" else None)
        import helve, helve.sync
        assert len(os.listdir("/proc/self/task")) == 1, "a thread"
        package = os.path.dirname(helve.__file__)
        others = [name for name in opened if not name.endswith((".py", ".pyc", ".so")) and "__pycache__" not in name]
        assert not others, others
        assert "asyncio" not in sys.modules
    """
    done = python(script)
    assert done.returncode == 0, done.stderr


def test_a_fork_gets_a_clear_error_and_may_start_a_host_of_its_own(log):
    script = """
        import asyncio, os, sys, helve, helve.sync
        made_of = dict(servers={"demo": {"command": sys.executable, "args": sys.argv[1:]}}, rules=[{"tool": "*/*", "action": "allow"}])
        with helve.sync.Host(**made_of) as host:
            host.tool("demo/echo", text="x")
            child = os.fork()
            if child == 0:
                try:
                    host.tool("demo/echo", text="x")
                except helve.ServerUnavailable as error:
                    assert "does not survive a fork" in str(error), error
                else:
                    os._exit(3)
                del host
                with helve.sync.Host(**made_of) as own:
                    os._exit(0 if own.tool("demo/echo", text="own") == "own" else 4)
            _, status = os.waitpid(child, 0)
            assert os.waitstatus_to_exitcode(status) == 0, status
            assert host.tool("demo/echo", text="still here") == "still here"
        async def work():
            async with helve.Host(**made_of) as host:
                await host.tool("demo/echo", text="x")
                child = os.fork()
                if child == 0:
                    try:
                        host.servers()
                    except helve.ServerUnavailable:
                        os._exit(0)
                    os._exit(3)
                _, status = os.waitpid(child, 0)
                assert os.waitstatus_to_exitcode(status) == 0, status
                assert await host.tool("demo/echo", text="still here") == "still here"
        asyncio.run(work())
    """
    done = python(script, str(HERE / "server.py"), str(log))
    assert done.returncode == 0, done.stderr
    assert gone(log)


def test_hosts_in_several_loops_one_after_another(demo):
    async def work():
        async with helve.Host(**demo) as host:
            return await host.tool("demo/echo", text="x")

    assert [run(work()) for _ in range(3)] == ["x"] * 3


def test_however_many_loops_there_were_a_fork_is_prepared_once(monkeypatch):
    # The interpreter keeps what is to be done after a fork for good: once for each loop would be a leak.
    from helve import _host

    prepared = []
    monkeypatch.setattr(os, "register_at_fork", lambda **work: prepared.append(work))
    monkeypatch.setattr(_host, "_forgets_parent", False)

    async def work():
        async with helve.Host(empty=True):
            pass

    for _ in range(3):
        run(work())
        gc.collect()
    assert len(prepared) == 1


def test_one_host_used_from_two_loops_at_once(demo):
    async def work():
        async with helve.Host(**demo) as host:
            await host.ready()
            texts = []
            other = threading.Thread(target=lambda: texts.append(asyncio.run(host.tool("demo/echo", text="other"))))
            other.start()
            mine = await host.tool("demo/echo", text="mine")
            while other.is_alive():
                await asyncio.sleep(0.01)
            return mine, texts

    assert run(work()) == ("mine", ["other"])


def test_other_tasks_run_while_a_call_waits(demo):
    async def work():
        ticks = 0
        async with helve.Host(**demo) as host:
            call = asyncio.create_task(host.tool("demo/slow", seconds=0.5))
            while not call.done():
                await asyncio.sleep(0.01)
                ticks += 1
            return await call, ticks

    text, ticks = run(work())
    assert text == "at last" and ticks > 5


def test_uvloop(demo):
    uvloop = pytest.importorskip("uvloop")

    async def work():
        async with helve.Host(**demo, approve=lambda _: True) as host:
            host.skill(name="own")(lambda: "mine")
            texts = await asyncio.gather(*(host.tool("demo/echo", text=str(n)) for n in range(50)))
            return texts, await host.tool("own")

    texts, own = uvloop.run(work())
    assert texts == [str(n) for n in range(50)] and own == "mine"


def test_an_error_of_the_body_closes_the_host(demo, log):
    async def work():
        async with helve.Host(**demo) as host:
            await host.ready("demo")
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        run(work())
    assert gone(log)


def test_the_program_that_came_with_the_package_runs():
    from helve import _program

    done = subprocess.run([_program.path(), "--version"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and helve.__version__ in done.stdout


def test_the_other_project_of_that_name_is_told(tmp_path, monkeypatch):
    other = tmp_path / "site" / "helve-9.9.dist-info"
    other.mkdir(parents=True)
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: helve\nVersion: 9.9\n")
    script = "import warnings; warnings.simplefilter('error'); from helve import _program; _program.path()"
    done = python(script, env={**os.environ, "PYTHONPATH": str(other.parent)})
    assert "`helve` 9.9 is another project's" in done.stderr


def test_a_program_that_is_missing_is_told(demo):
    async def work():
        async with helve.Host(**demo, program="/nowhere/helve") as host:
            await host.ready("demo")

    with pytest.raises(helve.Error):
        run(work())
