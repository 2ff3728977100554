"""Tables that are too long for one file: the TOML files of a folder, read as one list."""

import tomllib
from collections.abc import Iterator
from importlib.resources.abc import Traversable
from typing import Any


def rows(folder: Traversable, key: str) -> Iterator[dict[str, Any]]:
    """Return the `[[key]]` tables of every TOML file in a folder of a package, by file name."""
    files = (file for file in folder.iterdir() if file.name.endswith(".toml"))
    for file in sorted(files, key=lambda file: file.name):
        yield from tomllib.loads(file.read_text(encoding="utf-8")).get(key, ())
