"""Axes tell values apart, however small they are or how close: in the console and in previews."""

import itertools
import json
from pathlib import Path

import pytest
from tests.loading import loaded

AXES = [
    ([0, 0.0005, 0.001, 0.0015, 0.002], "1"),
    ([0, 2e-7, 4e-7, 6e-7], "1"),
    ([1.001, 1.002, 1.003], "1"),
    ([0, 0.25, 0.5, 0.75, 1], "1"),
    ([1.2345, 1.235, 1.2355], "s"),
    ([0.01225, 0.0123, 0.01235], "s"),
    ([12.51e9, 12.52e9, 12.53e9], "By/s"),
    ([100.1, 100.2, 100.3], "Cel"),
    ([123_456.1, 123_456.2], "{step}"),
]
GRAFANA = {"1": "none", "s": "s", "By/s": "Bps", "Cel": "celsius", "{step}": "short"}


@pytest.fixture
def units():
    return loaded(Path(__file__).parents[2] / "tools" / "preview" / "units.py")


@pytest.mark.parametrize(("values", "unit"), AXES)
def test_no_two_ticks_of_a_preview_are_written_alike(units, values, unit):
    texts = units.ticks(values, GRAFANA[unit])
    assert all(one != other for one, other in itertools.pairwise(texts)), texts


def test_small_values_of_a_preview_are_written_with_significant_digits(units):
    assert ["0.00042", "0.013", "0", "0.25"] == [
        units.written(value, "none") for value in (0.00042, 0.013, 0.0, 0.25)
    ]


def test_no_two_ticks_of_the_console_are_written_alike(browser, serve, documents):
    collector = serve([documents.incident()])
    browser.open(f"{collector.address}/#/incidents")
    browser.wait("document.querySelector('main tbody tr')")
    axes = json.dumps(AXES)
    scaled = browser.run(
        "import('/console/parts/units.js')"
        f".then((units) => {axes}.map(([values, unit]) => units.scale(values, unit)))"
    )
    for texts in scaled:
        assert len(set(texts)) == len(texts), texts
    assert ["0", "0.25", "0.5", "0.75", "1"] == scaled[3]
