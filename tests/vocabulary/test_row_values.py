"""A value is read by the annotation of its field; a mistake is said with row, key and fix."""

from dataclasses import dataclass
from typing import Annotated

import pytest
from tests.vocabulary.planets import Moon, Planet, read, refusal, toml

from rankscope.vocabulary import row_values, tables
from rankscope.vocabulary.ids import Fault
from rankscope.vocabulary.patterns import DeferredPattern
from rankscope.vocabulary.tables import TableError


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
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_value_that_is_wrong_is_said_with_row_key_and_fix(mistake):
    text, said = MISTAKES[mistake]
    refused = refusal(text)
    assert said in refused
    assert refused.startswith("space/planets.toml")


def test_a_form_that_makes_no_sense_is_a_mistake():
    @dataclass(frozen=True, slots=True)
    class Row:
        name: str
        number: Annotated[int, row_values.WrittenAs(str, int)]

    with pytest.raises(TableError, match=r"row a: number: invalid literal"):
        tables.rows(Row, '[[row]]\nname = "a"\nnumber = "x"\n', "row")


def test_a_row_class_that_no_table_can_hold_is_an_error_of_the_program():
    @dataclass(frozen=True, slots=True)
    class Row:
        name: complex

    with pytest.raises(TypeError, match="no TOML table holds"):
        tables.rows(Row, "[[row]]\n", "row")


def test_of_equal_unions_each_tries_its_types_in_its_own_order():
    first: list[str] = []
    second: list[str] = []
    row_values.reader(str | float).read(True, "value", first)
    row_values.reader(float | str).read(True, "value", second)
    assert ["value is true; write a number"] == first
    assert ["value is true; write a text"] == second
