"""A log format reads its own examples as it says: the worked one, and those of every framework."""

import tomllib
from importlib import resources
from pathlib import Path

import pytest

from rankscope.formats import training_logs
from rankscope.formats.training_logs import line_formats

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "log_format_example.toml"
FOLDER = resources.files("rankscope.formats.training_logs").joinpath("frameworks")
TEXTS = {
    "the worked example": EXAMPLE.read_text(encoding="utf-8"),
    **{
        name: FOLDER.joinpath(f"{name}.toml").read_text(encoding="utf-8")
        for name in line_formats.FRAMEWORKS
    },
}


@pytest.mark.parametrize(
    ("name", "row"),
    [(name, row) for name, text in TEXTS.items() for row in tomllib.loads(text).get("example", ())],
    ids=lambda one: one if isinstance(one, str) else None,
)
def test_an_example_of_a_format_says_what_stands_beside_it(name, row):
    formats = (line_formats.parsed(TEXTS[name]), *training_logs.shipped())
    found = {
        sample.metric.removeprefix("training."): sample.value
        for logged in training_logs.read([row["line"]], default_at=1_787_000_000.0, formats=formats)
        for sample in logged.samples
    }
    assert row["values"] == pytest.approx(found)


def test_a_file_of_the_folder_is_listed_and_what_is_listed_is_there():
    there = [path.name for path in FOLDER.iterdir() if path.name.endswith(".toml")]
    assert sorted(f"{name}.toml" for name in line_formats.FRAMEWORKS) == sorted(there)


def test_the_worked_example_is_no_framework_yet():
    assert tomllib.loads(TEXTS["the worked example"])["name"] not in line_formats.FRAMEWORKS
