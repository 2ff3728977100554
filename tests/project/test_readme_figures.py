"""What README.md says of accuracy is what the pages and the code behind it say."""

import re
from pathlib import Path

import pytest

from rankscope.lab import mechanisms

pytestmark = pytest.mark.documents

ROOT = Path(__file__).parents[2]
README, CHINESE = (
    (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "README.zh.md")
)
ACCURACY = (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8")


def columns(method: str) -> dict[str, str]:
    """Return the row of a method in the first table of the published figures."""
    lines = [
        line for line in ACCURACY.splitlines() if line.startswith(("| method |", f"| {method} |"))
    ]
    head, row = ([cell.strip() for cell in line.split("|")] for line in lines[:2])
    return dict(zip(head, row, strict=True))


@pytest.mark.parametrize(
    ("said", "column"),
    [
        ("precision", "precision"),
        ("recall", "recall"),
        ("right entity", "right entity"),
        ("first cause", "right first cause"),
        ("wrong accusations", "wrong accusations"),
    ],
)
def test_the_published_figures_are_those_of_the_page(said, column):
    (row,) = (line for line in README.splitlines() if line.startswith("| published suite"))
    assert f"{said} {columns('rankscope')[column]}" in row


def test_the_published_suite_is_as_large_as_the_page_says():
    found = re.search(r": (\d+) cases, (\d+) fault ids, (\d+) healthy cases", ACCURACY)
    assert found is not None
    assert "{} simulated cases, {} faults, {} healthy".format(*found.groups()) in README


def test_the_number_of_real_mechanisms_is_that_of_the_list():
    real = [one for one in mechanisms.MECHANISMS if one.fault]
    faults, count = len(mechanisms.faults()), len(real)
    assert f"{faults} of them are injected into real jobs, by {count} real\nmechanisms" in README
    assert f"其中 {faults} 种通过 {count} 种真实机制" in CHINESE
