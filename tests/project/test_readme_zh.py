"""README.zh.md says what README.md says: the same sections, commands, links, rows."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.documents

ROOT = Path(__file__).parents[2]
ENGLISH, CHINESE = (
    (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "README.zh.md")
)
MEASURED = "## What was measured"
"""Its figures stand in one place; the Chinese page leads there."""

_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def levels(text: str) -> list[int]:
    """Return the level of each heading, in order."""
    return [len(found) for found in re.findall(r"^(#+) ", _FENCE.sub("", text), re.MULTILINE)]


def code(text: str) -> list[str]:
    """Return blocks of code, and words of code that are commands."""
    return _FENCE.findall(text)


def links(text: str) -> set[str]:
    return set(re.findall(r"\]\(([^)]+)\)", text)) - {
        "README.md",
        "README.zh.md",
        "README.md#what-was-measured",
    }


def rows(text: str) -> int:
    return len(re.findall(r"^\| ", text, re.MULTILINE))


def test_the_sections_are_the_same():
    assert levels(ENGLISH) == levels(CHINESE)


def test_the_commands_are_the_same():
    assert code(ENGLISH) == code(CHINESE)


def test_the_links_are_the_same():
    assert links(ENGLISH) == links(CHINESE)


def test_the_table_of_pages_has_the_same_rows():
    assert rows(ENGLISH[: ENGLISH.index(MEASURED)]) == rows(CHINESE)


def test_each_leads_to_the_other():
    assert "](README.zh.md)" in ENGLISH
    assert "](README.md)" in CHINESE
    assert "](README.md#what-was-measured)" in CHINESE
    assert MEASURED in ENGLISH
