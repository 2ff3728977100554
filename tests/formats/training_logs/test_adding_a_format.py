"""A log format reads its own examples as it says: the worked one, and those of every framework."""

from importlib import resources
from pathlib import Path

import pytest

from rankscope.formats import training_logs
from rankscope.formats.training_logs import line_formats
from rankscope.vocabulary import tables

FILE = Path(__file__).parents[3] / "docs" / "examples" / "log_format_example.toml"
WORKED = tables.row(
    line_formats.LineFormat, tables.parsed(FILE.read_text(encoding="utf-8"), FILE.name), FILE.name
)
EXAMPLES = [
    pytest.param(one, example, id=f"{one.name}-{number}")
    for one in (WORKED, *training_logs.shipped())
    for number, example in enumerate(one.examples)
]


@pytest.mark.parametrize(("one", "example"), EXAMPLES)
def test_an_example_of_a_format_says_what_stands_beside_it(one, example):
    found = {
        sample.metric.removeprefix("training."): sample.value
        for logged in training_logs.read(
            [example.line], default_at=1_787_000_000.0, formats=(one, *training_logs.shipped())
        )
        for sample in logged.samples
    }
    assert example.values == pytest.approx(found)


def test_a_file_of_the_folder_is_listed_and_what_is_listed_is_there():
    folder = resources.files("rankscope.formats.training_logs").joinpath("frameworks")
    there = [path.name for path in folder.iterdir() if path.name.endswith(".toml")]
    assert sorted(f"{name}.toml" for name in line_formats.FRAMEWORKS) == sorted(there)


def test_the_worked_example_is_no_framework_yet():
    assert WORKED.examples
    assert WORKED.name not in line_formats.FRAMEWORKS
