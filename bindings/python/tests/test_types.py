"""The package is typed, and so are programs that use it."""

import os
import pathlib
import shutil
import subprocess
import sys

import helve
from conftest import REAL_HOME

PROGRAM = '''
import helve
import helve.sync

host = helve.Host(servers={"a": {"command": "x"}}, approve=lambda request: request.risk == "low")


@host.skill
async def greet(who: str, times: int = 1) -> str:
    return who * times


@host.skill(read_only=True, name="other")
def other(number: int) -> int:
    return number


async def work() -> str:
    async with host:
        result = await host.call("a/b", text="x")
        tools: list[dict[str, object]] = [dict(tool) for tool in host.tools("anthropic")]
        scope: helve.Tools = host.scope(only=["a/*"]).using(timeout=2.0)
        answer = await scope.execute("mcp__a__b", {"text": "x"})
        async for event in host.watch("a", "b://c"):
            print(event.change, tools)
        try:
            await host.tool("a/b")
        except helve.ToolTimeout as error:
            print(error.code, error.hints, error.may_have_run)
        return result.text + answer.text + await greet("x")


def script() -> bool:
    with helve.sync.Host() as host:
        return host.call("a/b").is_error
'''

WRONG = '''
import helve


async def work(host: helve.Host) -> int:
    return (await host.call("a/b")).text
'''


def checked(checker, text, tmp_path):
    file = tmp_path / "program.py"
    file.write_text(text)
    environment = {**os.environ, "HOME": REAL_HOME}
    done = subprocess.run([*checker, str(file)], capture_output=True, text=True, timeout=300, cwd=tmp_path, env=environment)
    return done.returncode, done.stdout + done.stderr


def test_mypy_strict(tmp_path):
    mypy = [sys.executable, "-m", "mypy", "--strict", "--no-incremental"]
    assert checked(mypy, PROGRAM, tmp_path)[0] == 0, checked(mypy, PROGRAM, tmp_path)
    assert checked(mypy, WRONG, tmp_path)[0] == 1


def test_mypy_strict_of_the_package_itself():
    """With its integrations, against the types of the real frameworks."""
    mypy = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "-p", "helve"]
    done = subprocess.run(mypy, capture_output=True, text=True, timeout=600, cwd="/")
    errors = [line for line in done.stdout.splitlines() if ": error:" in line and "/helve/" in line]
    assert not errors, errors
    assert done.returncode == 0, done.stdout


def test_pyright(tmp_path):
    checker = [pyright(), "--pythonpath", sys.executable]
    code, said = checked(checker, PROGRAM, tmp_path)
    assert code == 0, said
    assert checked(checker, WRONG, tmp_path)[0] == 1


def test_pyright_finds_a_type_for_everything_that_is_public(tmp_path):
    # Here pyright asks the `python` of the path where packages are, whatever it is told.
    path = os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = {**os.environ, "HOME": REAL_HOME, "PATH": path}
    checker = [pyright(), "--verifytypes", "helve", "--ignoreexternal"]
    done = subprocess.run(checker, capture_output=True, text=True, timeout=300, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr


def pyright():
    found = shutil.which("pyright", path=str(pathlib.Path(sys.executable).parent))
    assert found is not None, "pyright is not installed"
    return found


def test_the_package_says_that_it_is_typed():
    assert (pathlib.Path(helve.__file__).parent / "py.typed").exists()
