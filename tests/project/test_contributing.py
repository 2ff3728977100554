"""CONTRIBUTING's worked examples exist, and each is followed by the test that the page names."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.documents

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
_CELL = re.compile(r"`([^`]+)`")


def _examples() -> dict[str, list[list[str]]]:
    """Return {plug-in: paths of contract, list, example, test} of the table of worked examples."""
    section = PAGE.partition("## Adding one")[2].partition("###")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if "`" in line]
    return {row[0]: [_CELL.findall(cell) for cell in row[1:]] for row in rows if len(row) == 5}


EXAMPLES = _examples()


def test_every_kind_of_plug_in_has_its_worked_example():
    assert ["detector", "cause", "reader", "notifier", "log format", "log signature"] == list(
        EXAMPLES
    )


@pytest.mark.parametrize("plug_in", EXAMPLES)
def test_what_the_page_names_exists(plug_in: str):
    named = [path for cell in EXAMPLES[plug_in] for path in cell]
    assert [] == [path for path in named if not (ROOT / path).is_file()]


NO_PLUG_INS = {"recovery_controller"}
"""Programs that stand outside: their own pages show them."""


@pytest.mark.parametrize("plug_in", EXAMPLES)
def test_a_test_follows_the_example(plug_in: str):
    """The test reads the very file that the page shows; a copy of it would prove nothing."""
    *_, examples, tests = EXAMPLES[plug_in]
    text = "".join((ROOT / path).read_text(encoding="utf-8") for path in tests)
    assert examples
    for example in examples:
        assert Path(example).name in text or Path(example).stem in text


def test_every_example_is_named_by_the_page():
    """Beside an example lies what belongs to it: its table, its line of a log."""
    there = {path.stem for path in (ROOT / "docs" / "examples").iterdir() if path.is_file()}
    plug_ins = {Path(path).stem for row in EXAMPLES.values() for path in row[-2]}
    assert there == plug_ins | NO_PLUG_INS


@pytest.mark.parametrize(
    "path",
    sorted({part for part in _CELL.findall(PAGE) if re.fullmatch(r"[\w./]+/[\w.]+\w", part)}),
)
def test_every_path_on_the_page_exists(path: str):
    assert (ROOT / path).exists()
