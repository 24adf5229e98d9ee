"""From a Python function to the definition of a tool: its name, its docstring, its annotations. Imported with the first skill."""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import inspect
import types
import typing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_PLAIN: dict[object, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    dict: {"type": "object"},
    list: {"type": "array"},
    tuple: {"type": "array"},
    set: {"type": "array"},
}

_SEQUENCES = (list, tuple, set, frozenset, collections.abc.Sequence, collections.abc.Iterable)
_MAPPINGS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)


class Parameters:
    """What a function takes, and how a model's arguments become what it wants."""

    def __init__(self, function: Callable[..., Any]) -> None:
        try:
            hints = typing.get_type_hints(function, include_extras=True)
        except NameError as error:
            raise TypeError(f"the annotations of {_name(function)}() cannot be read: {error}") from error
        properties: dict[str, Any] = {}
        required: list[str] = []
        self._makers: dict[str, Callable[[Any], Any]] = {}
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                raise TypeError(f"{_name(function)}() has the parameter {parameter}: a tool's are given by name")
            annotation = hints.get(parameter.name, typing.Any)
            properties[parameter.name] = of_type(annotation)
            if parameter.default is parameter.empty:
                required.append(parameter.name)
            elif isinstance(parameter.default, (str, int, float, bool)):
                properties[parameter.name].setdefault("default", parameter.default)
            maker = _maker(annotation)
            if maker is not None:
                self._makers[parameter.name] = maker
        self.schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
        if required:
            self.schema["required"] = required

    def make(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The function's own arguments."""
        for name, maker in self._makers.items():
            if name in arguments:
                arguments[name] = maker(arguments[name])
        return arguments


def of_type(annotation: Any) -> dict[str, Any]:
    """The schema of what an annotation allows. What is not known is anything."""
    if annotation in (typing.Any, inspect.Parameter.empty):
        return {}
    if isinstance(annotation, type) and annotation in _PLAIN:
        return dict(_PLAIN[annotation])
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        schema = of_type(inner[0])
        texts = [note for note in inner[1:] if isinstance(note, str)]
        return {**schema, "description": " ".join(texts)} if texts else schema
    if origin is typing.Literal:
        return _of_values(list(inner))
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [of_type(part) for part in inner]}
    if origin in _SEQUENCES:
        items = [part for part in inner if part is not ...]
        return {"type": "array", "items": of_type(items[0])} if len(items) == 1 else {"type": "array"}
    if origin in _MAPPINGS:
        return {"type": "object", "additionalProperties": of_type(inner[1])} if len(inner) == 2 else {"type": "object"}
    if isinstance(annotation, type):
        return _of_class(annotation)
    return {}


def _of_class(annotation: type) -> dict[str, Any]:
    if issubclass(annotation, enum.Enum):
        return _of_values([member.value for member in annotation])
    own = getattr(annotation, "model_json_schema", None)
    if own is not None:
        schema: dict[str, Any] = own()
        return schema
    if dataclasses.is_dataclass(annotation) or typing.is_typeddict(annotation):
        hints = typing.get_type_hints(annotation, include_extras=True)
        schema = {"type": "object", "properties": {name: of_type(hint) for name, hint in hints.items()}}
        if dataclasses.is_dataclass(annotation):
            missing = dataclasses.MISSING
            fields = dataclasses.fields(annotation)
            needed = [field.name for field in fields if field.default is missing and field.default_factory is missing]
        else:
            needed = sorted(getattr(annotation, "__required_keys__", ()))
        return {**schema, "required": needed} if needed else schema
    return {}


def _of_values(values: list[Any]) -> dict[str, Any]:
    kinds = {type(value) for value in values}
    plain = _PLAIN.get(next(iter(kinds))) if len(kinds) == 1 else None
    return {**(plain or {}), "enum": values}


def _maker(annotation: Any) -> Callable[[Any], Any] | None:
    """What makes the value that a function wants of JSON; `None` where JSON is that already."""
    if typing.get_origin(annotation) is typing.Annotated:
        return _maker(typing.get_args(annotation)[0])
    if not isinstance(annotation, type):
        return None
    if issubclass(annotation, enum.Enum):
        return annotation
    validate: Callable[[Any], Any] | None = getattr(annotation, "model_validate", None)
    if validate is not None:
        return validate
    if dataclasses.is_dataclass(annotation):
        return lambda value: annotation(**value)
    return None


def description(function: Callable[..., Any]) -> str:
    """What the docstring says."""
    return inspect.getdoc(function) or _name(function)


def plain(value: Any) -> Any:
    """A value that JSON does not know, as one that it does."""
    dump = getattr(value, "model_dump", None)
    if dump is not None:
        return dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    if isinstance(value, collections.abc.Mapping):
        return dict(value)
    for method in ("__fspath__", "isoformat"):
        written = getattr(value, method, None)
        if written is not None:
            return written()
    raise TypeError(f"a {type(value).__name__} cannot be written as JSON")


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)
