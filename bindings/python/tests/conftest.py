"""What all tests share. They run against the installed wheel, never against the sources beside them."""

import asyncio
import os
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).parent
#: For tools of development, which keep what they downloaded.
REAL_HOME = os.environ.get("HOME", "/")
ALLOW = [{"tool": "*/*", "action": "allow"}]


@pytest.fixture(autouse=True)
def stranger(tmp_path, monkeypatch):
    """Nobody's home, so that nobody's configuration counts."""
    home = tmp_path / "home"
    home.mkdir()
    for name in list(os.environ):
        if name.startswith(("XDG_", "HELVE_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(tmp_path)
    return home


@pytest.fixture
def log(tmp_path):
    """What the test server heard, line by line."""
    path = tmp_path / "server.log"
    path.touch()
    return path


@pytest.fixture
def servers(log):
    """The test server, as a host's `servers`."""
    return {"demo": {"command": sys.executable, "args": [str(HERE / "server.py"), str(log)]}}


@pytest.fixture
def demo(servers):
    """What a host with the test server is made of, where everything may be called."""
    return {"servers": servers, "rules": ALLOW}


def run(work):
    """Runs a coroutine to its end, within a time that no test needs."""

    async def bounded():
        return await asyncio.wait_for(work, 60)

    return asyncio.run(bounded())


async def until(condition, seconds=10.0):
    """Waits until something holds."""
    for _ in range(int(seconds / 0.01)):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never came")
