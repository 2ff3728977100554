"""What a pattern requires is read from it, and never hides a match."""

import importlib
import pkgutil
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope import detectors
from rankscope.detectors.split_patterns import SplitPattern, required


def patterns() -> list[re.Pattern[str]]:
    """Return those that detectors search for."""
    found: dict[str, re.Pattern[str]] = {}
    for module in pkgutil.walk_packages(detectors.__path__, "rankscope.detectors."):
        for one in vars(importlib.import_module(module.name)).values():
            if isinstance(one, re.Pattern) and isinstance(one.pattern, str):
                found[one.pattern] = one
    return list(found.values())


PATTERNS = patterns()


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("No Space|disk (?:is )?full", {"no space", "disk "}),
        (r"\bENOSPC\b", {"enospc"}),
        ("(?:link|port) down.{0,9}", {" down"}),
        ("(?:abc)+x?", {"abc"}),
        ("(?:abc)*x", None),
        (r"\d+|abc", None),
        ("ib|abc", None),
        ("stra(?!ss)e", {"stra"}),
    ],
)
def test_each_match_has_one_of_the_words_that_are_required(
    pattern: str, words: set[str] | None
) -> None:
    assert required(re.compile(pattern)) == words


@pytest.mark.parametrize(
    ("pattern", "alternatives"),
    [
        ("a|b", ["a", "b"]),
        (r"a\||(?:b|c)d", [r"a\|", "(?:b|c)d"]),
        (r"[)|]x|[]|]y|[^]|]z", ["[)|]x", "[]|]y", "[^]|]z"]),
        (r"(a|b)\1|c", [r"(a|b)\1|c"]),  # a group may be named by its number
        ("", [""]),
    ],
)
def test_a_pattern_is_split_between_its_alternatives(pattern: str, alternatives: list[str]) -> None:
    split = SplitPattern.of(re.compile(pattern))
    assert [one.pattern.pattern for one in split.alternatives] == alternatives


def test_letters_beyond_ascii_that_count_as_alike_are_not_missed() -> None:
    assert SplitPattern.of(re.compile("disk", re.IGNORECASE)).is_in("di\u017fk")


@settings(max_examples=20, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda one: one.pattern[:20])
def test_no_match_of_a_detectors_pattern_is_hidden(
    pattern: re.Pattern[str], data: st.DataObject
) -> None:
    text = data.draw(st.from_regex(pattern))
    assert SplitPattern.of(pattern).is_in(text)


@settings(max_examples=20, deadline=None)
@given(text=st.text(st.sampled_from("abcdefgi knotrs.0"), max_size=40))
@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda one: one.pattern[:20])
def test_no_match_is_found_that_a_detectors_pattern_has_not(
    pattern: re.Pattern[str], text: str
) -> None:
    assert SplitPattern.of(pattern).is_in(text) is (pattern.search(text) is not None)


def test_nearly_all_that_detectors_search_for_requires_a_word() -> None:
    alternatives = [one for pattern in PATTERNS for one in SplitPattern.of(pattern).alternatives]
    without = [one.pattern.pattern for one in alternatives if one.words is None]
    assert len(without) * 10 < len(alternatives), without
