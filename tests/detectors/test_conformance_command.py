"""The conformance command: what it says of a detector, and with which exit code."""

import pytest
from tests.detectors.others import Good, Quiet

from rankscope.detectors import conformance, selection
from rankscope.detectors.catalogue import detectors
from rankscope.detectors.conformance import command

NO_DETECTOR = "it is not a Detector: it has no evaluate and no next_due and no cadence_seconds"
OTHERS = Good.__module__


@pytest.mark.parametrize("detector", detectors(), ids=lambda detector: detector.name)
def test_every_detector_of_ours_keeps_the_contract_where_it_finds_something(detector):
    tried = conformance.trial(detector)
    assert [] == conformance.problems_of(tried)
    assert [] == tried.unknown
    assert tried.found, "without a finding, no check of findings was made"


@pytest.fixture
def said(capsys):
    """Return a function that runs the command: its exit code, and the lines of both its outputs."""

    def run(name: str) -> tuple[int, list[str]]:
        code = command.main([name])
        printed = capsys.readouterr()
        return code, (printed.out + printed.err).splitlines()

    return run


def test_it_says_how_many_findings_it_looked_at_and_in_which_windows(said):
    code, (line,) = said(f"{OTHERS}:Good")
    assert 0 == code
    assert "good keeps the contract; findings: 1, in 1 of 17 windows" in line
    assert "its docstring's example" in line


def test_where_nothing_was_found_it_says_so_and_how_to_change_it(said):
    code, lines = said(f"{OTHERS}:Quiet")
    assert 0 == code
    assert any("reported nothing in any of 17 windows" in line for line in lines)
    assert any("the checks of findings were not made" in line for line in lines)
    assert any("let the example in its docstring evaluate a window" in line for line in lines)


def test_kinds_that_no_window_shows_are_named():
    assert ["rank.slow_compute"] == conformance.trial(Quiet()).unseen
    assert [] == conformance.trial(Good()).unseen


def test_a_metric_that_no_source_reports_is_named_with_its_nearest(said):
    code, lines = said(f"{OTHERS}:Typing")
    assert 0 == code
    wanted = "looks for system.shm.usge, which no source reports; did you mean system.shm.usage?"
    assert any(wanted in line for line in lines)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("Nameless", "it has no name"),
        ("Nothing", f"{NO_DETECTOR} (inherit from rankscope.detectors.contract.Detector)"),
        ("Idle", "it has no evaluate"),
        ("OneKind", "its kinds 'job.slow' are no tuple of names, as (\"job.slow\",) is"),
    ],
)  # fmt: skip
def test_what_is_no_detector_is_said_in_one_line(said, name, wanted):
    assert (1, [wanted]) == said(f"{OTHERS}:{name}")


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("Nobody", "AttributeError"),
        ("Demanding", "missing 1 required positional argument"),
    ],
)
def test_what_cannot_be_made_is_said_in_one_line(said, name, wanted):
    code, (line,) = said(f"{OTHERS}:{name}")
    assert 2 == code
    assert wanted in line


def test_an_entry_point_that_nobody_offers_is_said_in_one_line(said):
    code, (line,) = said("nobodys_detector")
    assert 2 == code
    assert f"(entry points of {selection.ENTRY_POINTS}: " in line
