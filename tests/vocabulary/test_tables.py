"""Tables are read by the shape of their rows; a mistake is said with file, row, key and fix."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pytest

from rankscope.vocabulary import tables
from rankscope.vocabulary.ids import Fault
from rankscope.vocabulary.patterns import DeferredPattern
from rankscope.vocabulary.tables import TableError

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
    near: tuple[Annotated[str, tables.KnownValues("planet", lambda: PLANETS)], ...] = ()
    words: frozenset[str] = frozenset()
    names: Mapping[str, str] = field(default_factory=dict)
    seen: DeferredPattern | None = None
    year: int | None = None
    value: str | float = ""
    loose: Any = None
    sets: Annotated[
        tuple[str, ...], tables.WrittenAs(str, lambda text: tuple(text.split("+")))
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


def test_a_row_is_built_from_its_keys():
    (mars,) = read(
        toml(
            moons='[{ name = "phobos", radius = 11 }, { name = "deimos" }]', orbit="[1.4, 1.7]",
            near='["earth"]', words='["red"]', names='{ zh = "火星" }', seen="'r.d'", year="687",
            value="3", loose="[1]", sets='"a+b"',
        )
        + 'class = "small"\n'
    )  # fmt: skip
    assert Planet(
        name=Fault("mars"), kind="rock", rank=4, day=1.0, inner=True,
        moons=(Moon("phobos", 11.0), Moon("deimos")), orbit=(1.4, 1.7), near=("earth",),
        words=frozenset({"red"}), names={"zh": "火星"}, seen=DeferredPattern("r.d"), year=687,
        value=3.0, loose=[1], sets=("a", "b"), of="small",
    ) == mars  # fmt: skip
    assert isinstance(mars.day, float)
    assert isinstance(mars.moons[0].radius, float)


def test_what_may_be_left_out_has_its_default():
    (mars,) = read(toml())
    assert ((), None, {}, "") == (mars.moons, mars.seen, mars.names, mars.of)


MISTAKES = {
    "a key that is missing": (toml(kind=""), 'mars: kind is missing; add kind = "rock"'),
    "a list that is missing": ("[[planet]]\n", '1: name is missing; add name = "..."'),
    "a key that is misspelt": (toml(yaer="1"), "mars: there is no key yaer; did you mean year?"),
    "a key of nothing like it": (toml(qqq="1"), "mars: there is no key qqq; there are class, day"),
    "a key that is set later": (toml(learnt="1.0"), "mars: there is no key learnt"),
    "a text for a number": (toml(day='"1"'), 'mars: day is "1"; write a number'),
    "a truth value for a number": (toml(rank="true"), "mars: rank is true; write a whole number"),
    "a fraction for a whole number": (toml(rank="1.5"), "mars: rank is 1.5; write a whole number"),
    "a number for a text": (toml(name="3"), "planet 1: name is 3; write a text"),
    "a number for a truth value": (toml(inner="1"), "mars: inner is 1; write true or false"),
    "a text for a list": (toml(near='"earth"'), 'mars: near is "earth"; write a list'),
    "a list for a table": (toml(names="[]"), "mars: names is a list; write a table"),
    "a table for a text": (toml(kind="{}"), "mars: kind is a table; write rock or gas"),
    "one of no known words": (toml(kind='"ice"'), 'mars: kind is "ice"; write rock or gas'),
    "too few entries": (toml(orbit="[1.0]"), "mars: orbit has 1 entries; write 2"),
    "one entry of a list": (toml(words='["a", 2]'), "mars: words 2 is 2; write a text"),
    "one value of a table": (toml(names="{ en = 1 }"), "mars: names.en is 1; write a text"),
    "a reference to nothing": (
        toml(near='["earht"]'),
        "mars: near 1: earht is no planet; did you mean earth?",
    ),
    "a reference to nothing like it": (
        toml(near='["x"]'),
        "mars: near 1: x is no planet; there are mercury, venus, earth",
    ),
    "a row within a row": (
        toml(moons='[{ name = "a" }, { nmae = "b" }]'),
        "mars: moons 2: there is no key nmae; did you mean name?",
    ),
    "a value that makes no sense": (
        toml(moons='[{ name = "a", radius = -1 }]'),
        "mars: moons 1: radius -1: write one above 0",
    ),
    "a text for a row within a row": (toml(moons='["a"]'), 'mars: moons 1: "a"; write a table'),
    "a pattern of another type": (toml(seen="1"), "mars: seen is 1; write a regular expression"),
    "none of two types": (toml(value="true"), "mars: value is true; write a number"),
    "another form": (toml(sets="1"), "mars: sets is 1; write a text"),
    "a name that stands twice": (
        toml() + toml(),
        "mars: it stands twice; delete one or change its name",
    ),
    "no row": ("", "space/planets.toml: there is no row; write [[planet]]"),
    "a table for rows": ("[planet]\n", "planet is a table; write a list"),
    "another table": (toml() + "[[plant]]\n", "planets.toml: there is no key plant; did you mean"),
    "no TOML": ("[[planet", "space/planets.toml: it is not TOML: "),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_said_with_file_row_key_and_fix(mistake):
    text, said = MISTAKES[mistake]
    with pytest.raises(TableError) as raised:
        read(text)
    assert said in str(raised.value)
    assert str(raised.value).startswith("space/planets.toml")


def test_all_mistakes_of_a_file_are_said_at_once():
    with pytest.raises(TableError) as raised:
        read(toml(day='"1"', kind="") + toml(name='"venus"', rank=""))
    assert 3 == len(str(raised.value).splitlines())


def test_a_form_that_makes_no_sense_is_a_mistake():
    @dataclass(frozen=True, slots=True)
    class Row:
        name: str
        number: Annotated[int, tables.WrittenAs(str, int)]

    with pytest.raises(TableError, match=r"row a: number: invalid literal"):
        tables.rows(Row, '[[row]]\nname = "a"\nnumber = "x"\n', "row")


def test_names_may_stand_twice_where_the_table_says_so():
    assert 2 == len(read(toml() + toml(), unique=False))


def test_keys_of_another_reader_are_left_to_it():
    text = toml(colour='"red"')
    assert read(text, others=("colour",)) == read(text, others=None) == read(toml())
    with pytest.raises(TableError, match="there is no key colour"):
        read(text, others=("color",))
    assert read("version = 1\n" + toml(), beside="version source") == read(toml())


def test_a_row_class_that_no_table_can_hold_is_an_error_of_the_program():
    @dataclass(frozen=True, slots=True)
    class Row:
        name: complex

    with pytest.raises(TypeError, match="no TOML table holds"):
        tables.rows(Row, "[[row]]\n", "row")


def test_a_file_of_a_package_is_named_as_in_the_repository(monkeypatch):
    texts = {"a.toml": toml(), "b.toml": toml()}
    monkeypatch.setattr(tables, "text", lambda _package, name: texts[name])
    package = "rankscope.space.far"
    with pytest.raises(TableError) as raised:
        tables.joined(Planet, package, ["a.toml", "b.toml"], "planet")
    assert (
        "space/far/b.toml, planet mars: it stands in space/far/a.toml too; delete one"
        == str(raised.value)
    )  # fmt: skip
    texts["a.toml"] = toml(day="[]")
    with pytest.raises(TableError, match=r"^space/near/a\.toml, planet mars: day is a list"):
        tables.joined(Planet, "rankscope.space.near", ["a.toml", "b.toml"], "planet")


def test_a_file_that_several_read_is_parsed_once(monkeypatch):
    read: list[str] = []

    def text(_package: str, name: str) -> str:
        read.append(name)
        return toml()

    monkeypatch.setattr(tables, "text", text)
    first, second = (
        tables.joined(Planet, "rankscope.space.shared", ["a.toml"], "planet") for _ in range(2)
    )
    assert (first, ["a.toml"]) == (second, read)
