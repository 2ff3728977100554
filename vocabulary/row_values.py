"""A value of a TOML row, read by the annotation of its field; a mistake is said in words.

Annotations may be texts, numbers, truth values, Literals, NewTypes, patterns (DeferredPattern: none
is compiled here), row classes, `| None`, and tuples, frozensets and mappings of these. `Annotated`
with `KnownValues` holds a text to the names of another table, with `WrittenAs` it says how a value
stands in the file. Metadata `key` gives a field another key than its name, or, empty, none: it is
set later.
"""

import dataclasses
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Literal, NewType, Union, cast, get_args, get_origin

from .patterns import DeferredPattern

_FEW = 30
"""So many names are listed in a message; of more the nearest is named alone."""
_PLAIN: Mapping[Any, tuple[tuple[type, ...], str, str]] = {
    str: ((str,), "a text", '"..."'),
    bool: ((bool,), "true or false", "true"),
    int: ((int,), "a whole number", "0"),
    float: ((int, float), "a number", "0.0"),
}
"""What TOML has for a type, the type in words, and an example of it."""


@dataclasses.dataclass(frozen=True, slots=True)
class KnownValues:
    """Texts that refer to names of another table; `names` is called when a row is read."""

    what: str
    names: Callable[[], Iterable[str]]


@dataclasses.dataclass(frozen=True, slots=True)
class WrittenAs:
    """Values that a table has in another form; `make` raises ValueError for what makes no sense."""

    form: Any
    make: Callable[[Any], Any]


@dataclasses.dataclass(frozen=True, slots=True)
class ValueReader:
    """How a value of one annotation is read, and an example of it.

    `read` takes the value, where it stands, and the list to which it appends mistakes.
    """

    read: Callable[[Any, str, list[str]], Any]
    example: str


def keys(kind: type) -> list[str]:
    return [key for field in dataclasses.fields(kind) if (key := _key(field))]


def nearest(name: str, names: Iterable[str]) -> str:
    """Return what to write in the place of a name that is not among these."""
    import difflib  # noqa: PLC0415  costs time at start, and is for mistakes only

    every = list(names)
    near = difflib.get_close_matches(name, every, n=1)
    if near:
        return f"did you mean {near[0]}?"
    return f"there are {', '.join(every)}" if len(every) <= _FEW else "its table names all"


@cache
def _row(kind: Any) -> ValueReader:
    fields = tuple(
        (_key(field), field.name, reader(cast("Any", field.type)), _needed(field))
        for field in dataclasses.fields(kind)
        if _key(field)
    )
    known = frozenset(key for key, *_ in fields)

    def read(value: Any, where: str, mistakes: list[str]) -> Any:
        if not isinstance(value, Mapping):
            mistakes.append(f"{where}: {_said(value)}; write a table")
            return None
        given, before = cast("Mapping[str, Any]", value), len(mistakes)
        if not known.issuperset(given):
            mistakes.extend(unknown(given, known, where))
        made: dict[str, Any] = {}
        for key, name, one, needed in fields:
            if key in given:
                made[name] = one.read(given[key], f"{where}: {key}", mistakes)
            elif needed:
                mistakes.append(f"{where}: {key} is missing; add {key} = {one.example}")
        return None if len(mistakes) > before else _tried(lambda: kind(**made), where, mistakes)

    return ValueReader(read, "{ ... }")


def reader(annotation: Any) -> ValueReader:
    """Return the reader of an annotation; TypeError for one that no table can hold."""
    # Unions of the same types in another order are equal, and try them in another order.
    return _reader(annotation, repr(annotation))


@cache
def _reader(annotation: Any, _written: str) -> ValueReader:
    if isinstance(annotation, NewType):
        return reader(cast("Any", annotation.__supertype__))
    if annotation in _PLAIN:
        return _plain(annotation)
    if annotation is DeferredPattern:
        return ValueReader(_pattern, "'...'")
    if annotation is Any:
        return ValueReader(lambda value, _where, _mistakes: value, "...")
    if hasattr(annotation, "__dataclass_fields__"):
        return _row(annotation)
    return _composed(annotation, get_origin(annotation), get_args(annotation))


def _composed(annotation: Any, origin: Any, inner: tuple[Any, ...]) -> ValueReader:
    if origin is Annotated:
        note = inner[1]
        return _made(note) if isinstance(note, WrittenAs) else _referring(reader(inner[0]), note)
    if origin is Literal:
        return _one_of(inner)
    if origin in (tuple, frozenset):
        return _several(origin, inner)
    if origin in (Union, types.UnionType):
        return _either(inner)
    if origin in (Mapping, dict):
        return _mapping(reader(inner[1]))
    raise TypeError(f"no TOML table holds {annotation}")


def _plain(kind: type) -> ValueReader:
    accepted, words, example = _PLAIN[kind]

    def read(value: Any, where: str, mistakes: list[str]) -> Any:
        if not isinstance(value, accepted) or (isinstance(value, bool) and kind is not bool):
            mistakes.append(f"{where} is {_said(value)}; write {words}")
            return None
        return kind(value)

    return ValueReader(read, example)


def _referring(inner: ValueReader, known: KnownValues) -> ValueReader:
    def read(value: Any, where: str, mistakes: list[str]) -> Any:
        found = inner.read(value, where, mistakes)
        if isinstance(found, str) and found not in (names := known.names()):
            mistakes.append(f"{where}: {found} is no {known.what}; {nearest(found, names)}")
        return found

    return ValueReader(read, inner.example)


def _made(written: WrittenAs) -> ValueReader:
    inner = reader(written.form)

    def read(value: Any, where: str, mistakes: list[str]) -> Any:
        before = len(mistakes)
        found = inner.read(value, where, mistakes)
        if len(mistakes) > before:
            return None
        return _tried(lambda: written.make(found), where, mistakes)

    return ValueReader(read, inner.example)


def _tried(make: Callable[[], Any], where: str, mistakes: list[str]) -> Any:
    try:
        return make()
    except ValueError as error:
        mistakes.append(f"{where}: {error}")
        return None


def _one_of(choices: tuple[Any, ...]) -> ValueReader:
    listing = " or ".join(map(str, choices))

    def read(value: Any, where: str, mistakes: list[str]) -> Any:
        if value not in choices or isinstance(value, bool):
            mistakes.append(f"{where} is {_said(value)}; write {listing}")
        return value

    return ValueReader(read, f'"{choices[0]}"')


def _pattern(value: Any, where: str, mistakes: list[str]) -> Any:
    if not isinstance(value, str):
        mistakes.append(f"{where} is {_said(value)}; write a regular expression")
        return None
    return DeferredPattern(value)


def _several(kind: Any, inner: tuple[Any, ...]) -> ValueReader:
    """Return the reader of a list: of one type however long, or of these types one by one."""
    whole = kind is tuple and Ellipsis not in inner
    readers = [reader(one) for one in inner if one is not Ellipsis]

    def read(value: Any, where: str, mistakes: list[str]) -> Any:
        given = entries(value, where, mistakes)
        if whole and len(given) != len(readers):
            mistakes.append(f"{where} has {len(given)} entries; write {len(readers)}")
        many = readers if whole else readers * len(given)
        return kind(
            each.read(one, f"{where} {number}", mistakes)
            for number, (each, one) in enumerate(zip(many, given, strict=False), 1)
        )

    return ValueReader(read, "[...]")


def _either(inner: tuple[Any, ...]) -> ValueReader:
    """Return the reader of the one type beside None, or of the first type that takes a value."""
    readers = [reader(one) for one in inner if one is not types.NoneType]

    def read(value: Any, where: str, mistakes: list[str]) -> Any:
        tried: list[str] = []
        for one in readers:
            tried = []
            found = one.read(value, where, tried)
            if not tried:
                return found
        mistakes.extend(tried)
        return None

    return ValueReader(read, readers[0].example)


def _mapping(inner: ValueReader) -> ValueReader:
    def read(value: Any, where: str, mistakes: list[str]) -> Any:
        if not isinstance(value, Mapping):
            mistakes.append(f"{where} is {_said(value)}; write a table")
            return {}
        given = cast("Mapping[str, Any]", value)
        return {key: inner.read(one, f"{where}.{key}", mistakes) for key, one in given.items()}

    return ValueReader(read, "{ ... }")


def entries(value: Any, where: str, mistakes: list[str]) -> list[Any]:
    """Return the entries of a list, none of what is no list."""
    if isinstance(value, list):
        return value
    mistakes.append(f"{where} is {_said(value)}; write a list")
    return []


def unknown(given: Iterable[str], keys: Iterable[str], where: str) -> Iterator[str]:
    """Return what to say of each key that is not among these."""
    every = sorted(keys)
    for key in sorted(set(given) - set(every)):
        yield f"{where}: there is no key {key}; {nearest(key, every)}"


def _said(value: Any) -> str:
    """Return a value as TOML would write it, in short."""
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def _key(field: "dataclasses.Field[Any]") -> str:
    """Return the key of a field: its name, or the one that its metadata gives."""
    return str(field.metadata.get("key", field.name))


def _needed(field: "dataclasses.Field[Any]") -> bool:
    return field.default is field.default_factory is dataclasses.MISSING
