"""The blocks of docs/python.md run as they stand."""

import ast
import asyncio
import inspect
import pathlib
import re

import pytest

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "python.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_a_block_of_the_page(block, tmp_path, capsys):
    (tmp_path / "README.md").write_text("read me")
    code = compile(block, str(PAGE), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    scope = {"__name__": "example"}
    if code.co_flags & inspect.CO_COROUTINE:

        async def run():
            await asyncio.wait_for(eval(code, scope), 60)

        asyncio.run(run())
    else:
        exec(code, scope)


def test_the_page_has_examples():
    assert len(BLOCKS) >= 8
