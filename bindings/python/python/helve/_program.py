"""Where the program is that came with this package. Hosts have it hold their servers, and confine them."""

from __future__ import annotations

import os

_DISTRIBUTION = "helve-mcp"
#: Another project's, which installs a package of the same name.
_NAMESAKE = "helve"

_found: str | None = None


def path() -> str:
    """The program of this installation. Looked for once, at the first host."""
    global _found
    if _found is None:
        _found = _find()
    return _found


def _find() -> str:
    from importlib import metadata

    from ._errors import ConfigError

    _warn_of_namesake()
    try:
        files = metadata.distribution(_DISTRIBUTION).files or []
    except metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == "helve" and file.parent.name in ("bin", "Scripts"):
            program = os.path.normpath(str(file.locate()))
            if os.path.isfile(program):
                return program
    raise ConfigError(
        f"the program `helve` of the distribution {_DISTRIBUTION} is not where it was installed",
        hints=[f"install {_DISTRIBUTION} again, or name the program: Host(program=...)"],
    )


def _warn_of_namesake() -> None:
    from importlib import metadata

    try:
        version = metadata.version(_NAMESAKE)
    except metadata.PackageNotFoundError:
        return
    import warnings

    warnings.warn(
        f"the distribution `{_NAMESAKE}` {version} is another project's and installs the package `helve` too: "
        f"uninstall it, then install {_DISTRIBUTION} again",
        RuntimeWarning,
        stacklevel=2,
    )
