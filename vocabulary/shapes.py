"""Shapes: frozen dataclasses that say once what a JSON document holds.

`document` writes a value as JSON-ready objects and `schema` describes its class; both read nothing
but the fields' annotations, in the order of the fields. What JSON has and Python's types do not say
stands in the annotation: `Annotated[int, Json({"minimum": 0})]`.
"""

import dataclasses
import functools
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import (
    Annotated,
    Any,
    Literal,
    NewType,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from .rounding import number, shown
from .times import rfc3339

Refer = Callable[[type["DocumentShape"]], dict[str, Any] | None]
"""Gives the reference to a shape that is described elsewhere, None where it belongs in place."""

_Write = Callable[[Any], Any]
_F = TypeVar("_F", bound=Callable[..., Any])

_JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


@dataclass(frozen=True, slots=True, eq=False)
class JsonType:
    """What JSON has that the type of a field does not say.

    keywords: of JSON Schema, beside those of the type; instead of them where they name a `type`,
    an `enum` or alternatives. A function where they come from a catalogue.
    write: turns a value into what JSON shows, where that is something else.
    """

    keywords: Mapping[str, Any] | Callable[[], Mapping[str, Any]]
    write: _Write | None = None


class FieldPresence(Enum):
    """Where a field stands in a document, other than always."""

    OPTIONAL = "readers do without it: documents of earlier versions lack it"
    FILLED = "it is left out where it is empty"
    INTERNAL = "it is no part of the document"


Time = Annotated[float, JsonType({"type": "string", "format": "date-time"}, rfc3339)]
"""Seconds since the epoch, RFC 3339 in documents."""
Figure = Annotated[float, JsonType({"type": "number"}, number)]
"""Six significant digits in documents, so that a replay on another machine has the same bytes."""
MaybeFigure = Annotated[float, JsonType({"type": ["number", "null"]}, number)]
"""A figure that may be unknown: NaN and infinities are null in documents."""
Reading = Annotated[float | str | None, JsonType({"type": ["number", "string", "null"]}, shown)]
"""What was read: a figure or words; NaN and infinities are words."""
Count = Annotated[int, JsonType({"minimum": 0})]


OptionalText = Annotated[str | None, FieldPresence.OPTIONAL]


def _once(function: _F) -> _F:
    """Return the function with its answers kept; type checkers see no hash in a class."""
    return cast("_F", functools.cache(function))


class DocumentShape:
    """A frozen dataclass that is written as a JSON object."""

    __slots__ = ()

    def document(self) -> dict[str, Any]:
        """Return the object, ready for JSON."""
        return _written(type(self))(self)


def schema(annotation: Any, refer: Refer = lambda _: None) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a shape, or of anything that a field of one may be."""
    plain = _plain(annotation)
    origin, inner = get_origin(plain), get_args(plain)
    if origin is Annotated:
        return _annotated(*inner, refer=refer)
    if origin is Literal:
        return {"const": inner[0]} if len(inner) == 1 else {"enum": list(inner)}
    if origin in (Union, types.UnionType):
        return _alternatives([schema(one, refer) for one in inner])
    if origin is tuple and inner[1:] != (...,) and len({*inner}) > 1:
        items = {"prefixItems": [schema(one, refer) for one in inner]}
        return {"type": "array", **items, "minItems": len(inner), "maxItems": len(inner)}
    if origin in (tuple, list):
        size = len(inner) if origin is tuple and inner[-1] is not ... else None
        limits = {} if size is None else {"minItems": size, "maxItems": size}
        return {"type": "array", "items": schema(inner[0], refer), **limits}
    if origin in (dict, Mapping):
        names = schema(inner[0], refer)
        found = {"type": "object", "additionalProperties": schema(inner[1], refer) or True}
        return {**found, "propertyNames": names} if "enum" in names else found
    if plain is Any:
        return {}
    if plain in _JSON_TYPES:
        return {"type": _JSON_TYPES[plain]}
    if not issubclass(plain, DocumentShape):
        raise TypeError(f"{plain!r}: no JSON is known for it; annotate it with Json(...)")
    return refer(plain) or properties(plain, refer)


def properties(shape: type[DocumentShape], refer: Refer = lambda _: None) -> dict[str, Any]:
    """Return the schema of a shape itself; others in it may be given as references.

    Objects stay open: readers accept fields that are added.
    """
    required: dict[str, Any] = {}
    optional: dict[str, Any] = {}
    for name, annotation, presence in _fields(shape):
        of = required if presence is None else optional
        of[_shown_name(name)] = schema(annotation, refer)
    return {"type": "object", "properties": {**required, **optional}, "required": list(required)}


def _annotated(annotation: Any, *marks: object, refer: Refer) -> dict[str, Any]:
    found: dict[str, Any] | None = None
    for mark in marks:
        if isinstance(mark, JsonType):
            more = mark.keywords() if callable(mark.keywords) else mark.keywords
            whole = not more.keys().isdisjoint(("type", "enum", "anyOf"))
            found = {**({} if whole else found or schema(annotation, refer)), **more}
    return schema(annotation, refer) if found is None else found


def _alternatives(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the schema of what is one of these; a list of types where that says it all."""
    first, *others = found
    scalar = first.get("type") in _JSON_TYPES.values()
    if scalar and all(one.keys() == {"type"} for one in others):
        return {**first, "type": [one["type"] for one in found]}
    return {"anyOf": found}


@_once
def _fields(shape: type[DocumentShape]) -> tuple[tuple[str, Any, FieldPresence | None], ...]:
    """Return name, annotation and presence of the fields that a document has."""
    hints = get_type_hints(shape, include_extras=True)
    found = []
    for field in dataclasses.fields(shape):  # type: ignore[arg-type]  # every shape is one
        marks = getattr(hints[field.name], "__metadata__", ())
        presence = next((mark for mark in marks if isinstance(mark, FieldPresence)), None)
        if presence is not FieldPresence.INTERNAL:
            found.append((field.name, hints[field.name], presence))
    return tuple(found)


@_once
def _written(shape: type[DocumentShape]) -> Callable[[Any], dict[str, Any]]:
    """Return the function that writes a shape: compiled once, as quick as if written by hand."""
    writers: dict[str, Any] = {}
    entries = []
    for name, annotation, presence in _fields(shape):
        # Its own name is none that a field can have.
        writer, value = _writer(annotation), f"_shape.{name}"
        if writer is not None:
            writers[name] = writer
            value = f"{name}({value})"
        entry = f"{_shown_name(name)!r}: {value}"
        filled = presence is FieldPresence.FILLED
        entries.append(f"**({{{entry}}} if _shape.{name} else {{}})" if filled else entry)
    text = f"lambda _shape: {{{', '.join(entries)}}}"
    return cast("Callable[[Any], dict[str, Any]]", eval(text, writers))  # noqa: S307  names of fields


def _plain(annotation: Any) -> Any:
    """Return an annotation without the name that a NewType gives it."""
    return annotation.__supertype__ if isinstance(annotation, NewType) else annotation


def _shown_name(name: str) -> str:
    """Return a field's name in JSON; `from_` is one that Python has taken."""
    return name.rstrip("_")


def _writer(annotation: Any) -> _Write | None:
    """Return what writes a value of this annotation, None where JSON has it as it is."""
    plain = _plain(annotation)
    origin, inner = get_origin(plain), get_args(plain)
    if origin is Annotated:
        marks = (mark.write for mark in inner[1:] if isinstance(mark, JsonType))
        return next((write for write in marks if write), None) or _writer(inner[0])
    if origin in (Union, types.UnionType):
        one, *others = [part for part in inner if part is not type(None)]
        write = None if others else _writer(one)
        return None if write is None else _where_known(write)
    if origin in (tuple, list):
        each = _writer(inner[0])
        return list if each is None else _in_list(each)
    if origin in (dict, Mapping):
        each = _writer(inner[1])
        return None if each is None else _by_name(each)
    if plain is float:
        return float  # 0 is written as 0.0
    return _written(plain) if isinstance(plain, type) and issubclass(plain, DocumentShape) else None


def _where_known(write: _Write) -> _Write:
    return lambda value: None if value is None else write(value)


def _in_list(write: _Write) -> _Write:
    return lambda values: [write(one) for one in values]


def _by_name(write: _Write) -> _Write:
    return lambda values: {name: write(one) for name, one in values.items()}
