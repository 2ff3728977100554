"""TOML tables read into rows: a row is a frozen dataclass, and a mistake is said in words.

The fields of the dataclass are the keys of a row, their annotations the types (`row_values`), their
defaults what may be left out; the first field names the row. Everything that is wrong with a file
is in one TableError: file, row, key, and what to write instead.
"""

import dataclasses
import pkgutil
import tomllib
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar, cast

from . import row_values

R = TypeVar("R")

_PROJECT = __name__.partition(".")[0]


class TableError(ValueError):
    """A table that cannot be used; each line of the text names file, row, key and fix."""


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
    mistakes = list(row_values.unknown(content, {key, *beside.split()}, file))
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
    reader, own = row_values.reader(cast("Any", kind)), row_values.keys(kind)
    name = own[0]
    found: list[R] = []
    names: set[str] = set()
    for number, value in enumerate(row_values.entries(values, where, mistakes), 1):
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


def row(kind: type[R], value: Any, where: str) -> R:
    """Return one row that TOML gave as a table; `where` names it in messages."""
    mistakes: list[str] = []
    found: R = row_values.reader(cast("Any", kind)).read(value, where, mistakes)
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
    return (pkgutil.get_data(package, name) or b"").decode()


def shown(package: str, name: str) -> str:
    """Return a file of a package as the repository has it."""
    return f"{package.removeprefix(f'{_PROJECT}.').replace('.', '/')}/{name}"


def stop(mistakes: Sequence[str]) -> None:
    """Raise TableError with all mistakes, if there are any."""
    if mistakes:
        raise TableError("\n".join(mistakes))
