"""Patterns of tables are compiled late: what is wrong with one has to show here."""

import re
import tomllib
from pathlib import Path

import pytest

import rankscope.formats
from rankscope.vocabulary.patterns import DeferredPattern

FORMATS = Path(rankscope.formats.__file__).parent
TABLES = sorted(FORMATS.rglob("*.toml"))


def patterns(value, key=""):
    if isinstance(value, dict):
        for name, one in value.items():
            yield from patterns(one, name)
    elif isinstance(value, list):
        for one in value:
            yield from patterns(one, key)
    elif key in {"pattern", "pair", "pid", "inside"} and value:
        yield value


@pytest.mark.parametrize("file", TABLES, ids=lambda file: str(file.relative_to(FORMATS)))
def test_every_pattern_of_a_table_is_a_regular_expression(file):
    for pattern in patterns(tomllib.loads(file.read_text())):
        re.compile(pattern)


def test_the_tables_have_the_patterns_that_are_looked_for():
    found = [one for file in TABLES for one in patterns(tomllib.loads(file.read_text()))]
    assert len(found) > 400


def test_a_pattern_is_compiled_by_the_first_text_that_it_is_asked_about():
    pattern = DeferredPattern("r(.)d")
    before = "compiled" in vars(pattern)
    found = pattern.search("a red one")
    assert (False, "e", True) == (before, found and found[1], "compiled" in vars(pattern))


def test_a_pattern_that_is_none_says_so_when_it_is_used():
    with pytest.raises(re.error, match="missing"):
        DeferredPattern("(").search("")
