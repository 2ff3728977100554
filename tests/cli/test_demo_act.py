"""`rankscope demo --act`: what it goes with, and where it cannot run."""

import pytest

from rankscope.cli import main
from rankscope.lab.mechanisms import MECHANISMS
from rankscope.lab.recovery import course


@pytest.fixture
def ran(monkeypatch):
    """Return what the course was asked for, in the place of running it."""
    asked = []

    def run(**options):
        asked.append(options)
        return 0

    monkeypatch.setattr(course, "run", run)
    return asked


@pytest.mark.parametrize(
    "more",
    [
        ["--fault", "numerics.nan_rank"],
        ["--mechanism", MECHANISMS[0].name],
        ["--collector", "http://127.0.0.1:9"],
    ],
)
def test_it_has_a_fault_and_a_collector_of_its_own(ran, capsys, more):
    assert 2 == main.main(["demo", "--act", *more])
    assert more[0] in capsys.readouterr().err
    assert [] == ran


def test_without_once_the_console_stays_up(ran):
    assert 0 == main.main(["demo", "--act"])
    assert 0 == main.main(["demo", "--act", "--once"])
    assert [True, False] == [asked["stay"] for asked in ran]
    assert [True, True] == [asked["actions"] for asked in ran]
