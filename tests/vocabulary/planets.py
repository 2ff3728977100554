"""A table with every kind of field."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pytest

from rankscope.vocabulary import row_values, tables
from rankscope.vocabulary.ids import Fault
from rankscope.vocabulary.patterns import DeferredPattern

PLANETS = ("mercury", "venus", "earth")


@dataclass(frozen=True, slots=True)
class Moon:
    """A row within a row."""

    name: str
    radius: float = 1.0

    def __post_init__(self) -> None:
        """Raise ValueError for a radius that makes no sense."""
        if self.radius <= 0:
            raise ValueError(f"radius {self.radius:g}: write one above 0")


@dataclass(frozen=True, slots=True)
class Planet:
    """A row with every kind of field."""

    name: Fault
    kind: Literal["rock", "gas"]
    rank: int
    day: float
    inner: bool
    moons: tuple[Moon, ...] = ()
    orbit: tuple[float, float] = (0.0, 0.0)
    near: tuple[Annotated[str, row_values.KnownValues("planet", lambda: PLANETS)], ...] = ()
    words: frozenset[str] = frozenset()
    names: Mapping[str, str] = field(default_factory=dict)
    seen: DeferredPattern | None = None
    year: int | None = None
    value: str | float = ""
    loose: Any = None
    sets: Annotated[
        tuple[str, ...], row_values.WrittenAs(str, lambda text: tuple(text.split("+")))
    ] = ()
    of: str = field(default="", metadata={"key": "class"})
    learnt: float = field(default=0.0, metadata={"key": ""})


GOOD = {
    "name": '"mars"', "kind": '"rock"', "rank": "4", "day": "1", "inner": "true",
}  # fmt: skip


def toml(**keys: str) -> str:
    """Return a table of one row, keys of "" left out."""
    rows = {**GOOD, **keys}
    return "[[planet]]\n" + "".join(f"{key} = {value}\n" for key, value in rows.items() if value)


def read(text: str, **how: Any) -> list[Planet]:
    return tables.rows(Planet, text, "planet", file="space/planets.toml", **how)


def refusal(text: str) -> str:
    """Return what is said of a table that cannot be read."""
    with pytest.raises(tables.TableError) as raised:
        read(text)
    return str(raised.value)
