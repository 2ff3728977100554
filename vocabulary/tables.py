"""TOML tables read into rows: a row is a frozen dataclass, and a mistake is said in words.

The fields of the dataclass are the keys of a row, their annotations the types, their defaults what
may be left out. Everything that is wrong with a file is in one TableError: file, row, key, and what
to write instead. Annotations may be texts, numbers, truth values, Literals, NewTypes, patterns
(DeferredPattern: none is compiled here), other row classes, `| None`, and tuples, frozensets and
mappings of these. `Annotated` with `KnownValues` holds a text to the names of another table, with
`WrittenAs` it says how a value stands in the file. The first field names the row. Metadata `key`
gives a field another key than its name, or, empty, none: it is set later.
"""

import dataclasses
import pkgutil
import tomllib
import types
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Annotated, Any, Literal, NewType, TypeVar, Union, cast, get_args, get_origin

from .patterns import DeferredPattern

R = TypeVar("R")

_PROJECT = __name__.partition(".")[0]
_FEW = 30
"""So many names are listed in a message; of more the nearest is named alone."""
_PLAIN: Mapping[Any, tuple[tuple[type, ...], str, str]] = {
    str: ((str,), "a text", '"..."'),
    bool: ((bool,), "true or false", "true"),
    int: ((int,), "a whole number", "0"),
    float: ((int, float), "a number", "0.0"),
}
"""What TOML has for a type, the type in words, and an example of it."""


class TableError(ValueError):
    """A table that cannot be used; each line of the text names file, row, key and fix."""


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
class _RowReader:
    """How a value of one annotation is read, and an example of it.

    `read` takes the value, where it stands, and the list to which it appends mistakes.
    """

    read: Callable[[Any, str, list[str]], Any]
    example: str


def packaged(
    kind: type[R],
    package: str,
    name: str,
    key: str,
    *,
    beside: str = "",
    unique: bool = True,
    others: Container[str] | None = (),
) -> list[R]:
    """Return the `[[key]]` rows of a file of a package; raises TableError.

    `beside`: further keys of the file, in one text, that somebody else reads; `others`: of its
    rows (None: whatever `kind` does not have). `unique`: no two rows have one name.
    """
    this = shown(package, name)
    content = parsed(text(package, name), this)
    return _rows_of(kind, content, key, file=this, beside=beside, unique=unique, others=others)


def file(kind: type[R], package: str, name: str) -> R:
    """Return a file of a package that is one row as a whole; raises TableError."""
    this = shown(package, name)
    return row(kind, parsed(text(package, name), this), this)


def joined(
    kind: type[R],
    package: str,
    names: Iterable[str],
    key: str,
    *,
    others: Container[str] | None = (),
) -> list[R]:
    """Return the rows of several files of a package, no name twice in all of them.

    `others`: keys of the rows that somebody else reads; None: all but those of `kind`.
    """
    mistakes: list[str] = []
    found: list[R] = []
    files: dict[str, str] = {}
    label = dataclasses.fields(cast("Any", kind))[0].name
    for name in names:
        file = shown(package, name)
        try:
            content = _shared(package, name)
            more = _rows_of(kind, content, key, file=file, beside="", unique=True, others=others)
        except TableError as error:
            mistakes.append(str(error))
            continue
        for one in more:
            this = str(getattr(one, label))
            if this in files:
                mistakes.append(f"{file}, {key} {this}: it stands in {files[this]} too; delete one")
            files[this] = file
        found += more
    stop(mistakes)
    return found


def rows(
    kind: type[R],
    source: str,
    key: str,
    *,
    file: str = "table",
    beside: str = "",
    unique: bool = True,
    others: Container[str] | None = (),
) -> list[R]:
    """Return the `[[key]]` rows of a TOML text, `file` being its name in messages."""
    content = parsed(source, file)
    return _rows_of(kind, content, key, file=file, beside=beside, unique=unique, others=others)


def _rows_of(
    kind: type[R],
    content: Mapping[str, Any],
    key: str,
    *,
    file: str,
    beside: str,
    unique: bool,
    others: Container[str] | None,
) -> list[R]:
    mistakes = list(_unknown(content, {key, *beside.split()}, file))
    found: list[R] = []
    if key in content:
        where, values = f"{file}, {key}", content[key]
        found = _listed(kind, values, where, mistakes, unique=unique, others=others)
    else:
        mistakes.append(f"{file}: there is no row; write [[{key}]]")
    stop(mistakes)
    return found


def _listed(
    kind: type[R],
    values: Any,
    where: str,
    mistakes: list[str],
    *,
    unique: bool,
    others: Container[str] | None,
) -> list[R]:
    reader, own = _row(cast("Any", kind)), keys(kind)
    name = own[0]
    found: list[R] = []
    names: set[str] = set()
    for number, value in enumerate(_list(values, where, mistakes), 1):
        label = cast("Mapping[str, Any]", value).get(name) if isinstance(value, Mapping) else None
        this = f"{where} {label if isinstance(label, str) else number}"
        if isinstance(label, str):
            if unique and label in names:
                mistakes.append(f"{this}: it stands twice; delete one or change its {name}")
            names.add(label)
        if isinstance(value, Mapping) and others != ():
            given = cast("Mapping[str, Any]", value).items()
            value = {k: v for k, v in given if k in own or (others is not None and k not in others)}
        found.append(reader.read(value, this, mistakes))
    return found


def keys(kind: type) -> list[str]:
    """Return the keys of a row class."""
    return [key for field in dataclasses.fields(kind) if (key := _key(field))]


def row(kind: type[R], value: Any, where: str) -> R:
    """Return one row that TOML gave as a table; `where` names it in messages."""
    mistakes: list[str] = []
    found: R = _row(cast("Any", kind)).read(value, where, mistakes)
    stop(mistakes)
    return found


def parsed(source: str, file: str) -> Mapping[str, Any]:
    """Return what a TOML text holds; TableError where it is none."""
    try:
        return tomllib.loads(source)
    except tomllib.TOMLDecodeError as error:
        raise TableError(f"{file}: it is not TOML: {error}") from error


@lru_cache(maxsize=16)
def _shared(package: str, name: str) -> Mapping[str, Any]:
    """Return what a file holds that several read, each its own keys of every row."""
    return parsed(text(package, name), shown(package, name))


def text(package: str, name: str) -> str:
    """Return the text of a file of a package."""
    return (pkgutil.get_data(package, name) or b"").decode()


def shown(package: str, name: str) -> str:
    """Return a file of a package as the repository has it."""
    return f"{package.removeprefix(f'{_PROJECT}.').replace('.', '/')}/{name}"


def stop(mistakes: Sequence[str]) -> None:
    """Raise TableError with all mistakes, if there are any."""
    if mistakes:
        raise TableError("\n".join(mistakes))


def nearest(name: str, names: Iterable[str]) -> str:
    """Return what to write in the place of a name that is not among these."""
    import difflib  # noqa: PLC0415  costs time at start, and is for mistakes only

    every = list(names)
    near = difflib.get_close_matches(name, every, n=1)
    if near:
        return f"did you mean {near[0]}?"
    return f"there are {', '.join(every)}" if len(every) <= _FEW else "its table names all"


@cache
def _row(kind: Any) -> _RowReader:
    """Return the reader of a dataclass."""
    fields = tuple(
        (_key(field), field.name, _reader(cast("Any", field.type)), _needed(field))
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
            mistakes.extend(_unknown(given, known, where))
        made: dict[str, Any] = {}
        for key, name, reader, needed in fields:
            if key in given:
                made[name] = reader.read(given[key], f"{where}: {key}", mistakes)
            elif needed:
                mistakes.append(f"{where}: {key} is missing; add {key} = {reader.example}")
        return None if len(mistakes) > before else _tried(lambda: kind(**made), where, mistakes)

    return _RowReader(read, "{ ... }")


@cache
def _reader(annotation: Any) -> _RowReader:
    """Return the reader of an annotation; TypeError for one that no table can hold."""
    if isinstance(annotation, NewType):
        return _reader(cast("Any", annotation.__supertype__))
    if annotation in _PLAIN:
        return _plain(annotation)
    if annotation is DeferredPattern:
        return _RowReader(_pattern, "'...'")
    if annotation is Any:
        return _RowReader(lambda value, _where, _mistakes: value, "...")
    if hasattr(annotation, "__dataclass_fields__"):
        return _row(annotation)
    return _composed(annotation, get_origin(annotation), get_args(annotation))


def _composed(annotation: Any, origin: Any, inner: tuple[Any, ...]) -> _RowReader:
    if origin is Annotated:
        note = inner[1]
        return _made(note) if isinstance(note, WrittenAs) else _referring(_reader(inner[0]), note)
    if origin is Literal:
        return _one_of(inner)
    if origin in (tuple, frozenset):
        return _several(origin, inner)
    if origin in (Union, types.UnionType):
        return _either(inner)
    if origin in (Mapping, dict):
        return _mapping(_reader(inner[1]))
    raise TypeError(f"no TOML table holds {annotation}")


def _plain(kind: type) -> _RowReader:
    accepted, words, example = _PLAIN[kind]

    def read(value: Any, where: str, mistakes: list[str]) -> Any:
        if not isinstance(value, accepted) or (isinstance(value, bool) and kind is not bool):
            mistakes.append(f"{where} is {_said(value)}; write {words}")
            return None
        return kind(value)

    return _RowReader(read, example)


def _referring(inner: _RowReader, known: KnownValues) -> _RowReader:
    def read(value: Any, where: str, mistakes: list[str]) -> Any:
        found = inner.read(value, where, mistakes)
        if isinstance(found, str) and found not in (names := known.names()):
            mistakes.append(f"{where}: {found} is no {known.what}; {nearest(found, names)}")
        return found

    return _RowReader(read, inner.example)


def _made(written: WrittenAs) -> _RowReader:
    inner = _reader(written.form)

    def read(value: Any, where: str, mistakes: list[str]) -> Any:
        before = len(mistakes)
        found = inner.read(value, where, mistakes)
        if len(mistakes) > before:
            return None
        return _tried(lambda: written.make(found), where, mistakes)

    return _RowReader(read, inner.example)


def _tried(make: Callable[[], Any], where: str, mistakes: list[str]) -> Any:
    try:
        return make()
    except ValueError as error:
        mistakes.append(f"{where}: {error}")
        return None


def _one_of(choices: tuple[Any, ...]) -> _RowReader:
    listing = " or ".join(map(str, choices))

    def read(value: Any, where: str, mistakes: list[str]) -> Any:
        if value not in choices or isinstance(value, bool):
            mistakes.append(f"{where} is {_said(value)}; write {listing}")
        return value

    return _RowReader(read, f'"{choices[0]}"')


def _pattern(value: Any, where: str, mistakes: list[str]) -> Any:
    if not isinstance(value, str):
        mistakes.append(f"{where} is {_said(value)}; write a regular expression")
        return None
    return DeferredPattern(value)


def _several(kind: Any, inner: tuple[Any, ...]) -> _RowReader:
    """Return the reader of a list: of one type however long, or of these types one by one."""
    whole = kind is tuple and Ellipsis not in inner
    readers = [_reader(one) for one in inner if one is not Ellipsis]

    def read(value: Any, where: str, mistakes: list[str]) -> Any:
        given = _list(value, where, mistakes)
        if whole and len(given) != len(readers):
            mistakes.append(f"{where} has {len(given)} entries; write {len(readers)}")
        many = readers if whole else readers * len(given)
        return kind(
            reader.read(one, f"{where} {number}", mistakes)
            for number, (reader, one) in enumerate(zip(many, given, strict=False), 1)
        )

    return _RowReader(read, "[...]")


def _either(inner: tuple[Any, ...]) -> _RowReader:
    """Return the reader of the one type beside None, or of the first type that takes a value."""
    readers = [_reader(one) for one in inner if one is not types.NoneType]

    def read(value: Any, where: str, mistakes: list[str]) -> Any:
        tried: list[str] = []
        for reader in readers:
            tried = []
            found = reader.read(value, where, tried)
            if not tried:
                return found
        mistakes.extend(tried)
        return None

    return _RowReader(read, readers[0].example)


def _mapping(inner: _RowReader) -> _RowReader:
    def read(value: Any, where: str, mistakes: list[str]) -> Any:
        if not isinstance(value, Mapping):
            mistakes.append(f"{where} is {_said(value)}; write a table")
            return {}
        given = cast("Mapping[str, Any]", value)
        return {key: inner.read(one, f"{where}.{key}", mistakes) for key, one in given.items()}

    return _RowReader(read, "{ ... }")


def _list(value: Any, where: str, mistakes: list[str]) -> list[Any]:
    if isinstance(value, list):
        return value
    mistakes.append(f"{where} is {_said(value)}; write a list")
    return []


def _unknown(given: Iterable[str], keys: Iterable[str], where: str) -> Iterator[str]:
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
