"""Which detectors evaluate which job, and those of other people's packages."""

from dataclasses import replace
from importlib import metadata

import pytest

from rankscope.detectors import catalogue, selection
from rankscope.detectors.contract import Detector
from rankscope.detectors.selection import DetectorSelection, SelectionError, SelectionRule
from rankscope.vocabulary import findings
from rankscope.vocabulary.findings import FindingKind


def by_name(detectors):
    return {detector.name: detector for detector in detectors}


def selected(*rules, job="llama-8b", cluster="eu-1"):
    """Return the detectors of a job by name, under some rules."""
    return by_name(DetectorSelection(catalogue.detectors(), rules).of(job, cluster))


def test_without_a_rule_everything_runs_with_its_defaults():
    assert by_name(catalogue.detectors()).keys() == selected().keys()


def test_a_rule_changes_only_the_jobs_that_match():
    rule = SelectionRule(
        jobs="llama-*", parameters={"stragglers": {"least": 0.2}}, disabled=("cpu_time",)
    )
    assert 0.2 == selected(rule)["stragglers"].least
    assert "cpu_time" not in selected(rule)
    other = selected(rule, job="vit")
    assert 0.2 != other["stragglers"].least
    assert "cpu_time" in other


@pytest.mark.parametrize(("cluster", "runs"), [("eu-1", False), ("us-1", True), (None, True)])
def test_a_rule_may_be_for_a_cluster(cluster, runs):
    rule = SelectionRule(clusters="eu-*", disabled=("stalls",))
    assert runs == ("stalls" in selected(rule, cluster=cluster))


def test_of_two_rules_for_one_parameter_the_later_wins_and_the_others_stay():
    made = selected(
        SelectionRule(parameters={"stragglers": {"least": 0.2, "fewest": 7}}),
        SelectionRule(jobs="llama-8b", parameters={"stragglers": {"least": 0.3}}),
    )["stragglers"]
    assert (0.3, 7) == (made.least, made.fewest)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (SelectionRule(disabled=("stal",)), "there is no detector 'stal'; did you mean stalls?"),
        (
            SelectionRule(parameters={"stalls": {"lest": 1}}),
            "no parameter 'lest'; did you mean least?",
        ),
        (
            SelectionRule(parameters={"stalls": {"least": "soon"}}),
            "stalls.least: must be a number, not text",
        ),
    ],
)
def test_a_mistake_is_named_when_the_selection_is_made(rule, words):
    with pytest.raises(SelectionError, match=words.replace("?", r"\?")):
        DetectorSelection(catalogue.detectors(), [rule])


def test_equal_selections_have_one_description_and_others_another():
    rules = [SelectionRule(disabled=("stalls",))]
    one, same, other = (
        DetectorSelection(catalogue.detectors(), chosen).description
        for chosen in (rules, rules, [])
    )
    assert one == same != other


OWN = FindingKind("job.of_mine", "mine", False, ("job",), ("training.loss",), "Something of mine")


class Mine(Detector):
    """A detector as somebody else would write it."""

    name = "mine"
    kinds = ("job.of_mine",)
    finding_kinds: tuple[FindingKind, ...] = (OWN,)

    def evaluate(self, window):
        return []


class Undescribed(Mine):
    kinds = ("job.of_nobody",)
    finding_kinds = ()


class Taken(Mine):
    name = "stalls"


class Broken(Mine):
    def __init__(self):
        raise ZeroDivisionError("mine")


class Nameless(Detector):
    kinds = ("job.slow",)

    def evaluate(self, window):
        return []


class NoDetector:
    name = "mine"
    kinds = ("job.slow",)

    def evaluate(self, window):
        return []


class Named(Mine):
    finding_kinds = ("job.of_mine",)  # type: ignore[assignment]


class Written(Mine):
    finding_kinds = ({"kind": "job.of_mine"},)  # type: ignore[assignment]


class Single(Mine):
    finding_kinds = OWN  # type: ignore[assignment]


class OtherEntity(Mine):
    finding_kinds = (replace(OWN, entities=("node",)),)  # type: ignore[arg-type]


class NoTuple(Mine):
    finding_kinds = (replace(OWN, signals="training.loss"),)  # type: ignore[arg-type]


class OtherEffect(Mine):
    finding_kinds = (replace(OWN, effect="kills"),)  # type: ignore[arg-type]


class Redefined(Mine):
    finding_kinds = (replace(OWN, kind="job.slow"),)


@pytest.fixture
def installed(monkeypatch):
    """Return a function that makes a class of this file an entry point of an installed package."""

    def install(kind):
        point = metadata.EntryPoint("mine", f"{__name__}:{kind.__name__}", selection.ENTRY_POINTS)
        monkeypatch.setattr(metadata.EntryPoint, "load", lambda _: kind)
        monkeypatch.setattr(metadata, "entry_points", lambda group: [point])

    return install


@pytest.fixture
def own_kinds_forgotten():
    """Leave the catalogue of findings as it was."""
    yield
    findings._kinds().pop(OWN.kind, None)


@pytest.mark.usefixtures("own_kinds_forgotten")
def test_an_installed_detector_comes_with_its_own_kinds_of_findings(installed):
    installed(Mine)
    (made,) = selection.plugins(["mine"])
    assert "mine" == made.name
    assert OWN == findings.catalogue()["job.of_mine"]


@pytest.mark.usefixtures("own_kinds_forgotten")
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Undescribed, "job.of_nobody: kinds that nobody describes"),
        (Taken, "calls itself stalls: taken"),
        (Broken, "cannot be loaded: ZeroDivisionError: mine"),
        (Nameless, r":Nameless\): it has no name"),
        (
            NoDetector,
            "it is not a Detector: it has no next_due and no cadence_seconds .inherit from",
        ),
        (Named, "its finding_kinds holds 'job.of_mine', a str: list a FindingKind"),
        (Written, "holds {'kind': 'job.of_mine'}, a dict: list a FindingKind"),
        (Single, "its finding_kinds is a FindingKind, not a tuple of FindingKind"),
        (OtherEntity, "the kind job.of_mine is about a node; there are job, rank, gpu"),
        (NoTuple, "the kind job.of_mine has signals 'training.loss', not a tuple of names"),
        (OtherEffect, "the kind job.of_mine has the effect 'kills'; there are stops, corrupts"),
        (Redefined, "its finding_kinds: the kind of finding job.slow exists and is another"),
    ],
)
def test_what_is_wrong_with_an_installed_detector_is_said_before_the_start(installed, kind, words):
    installed(kind)
    with pytest.raises(SelectionError, match=words):
        selection.plugins(["mine"])


def test_nothing_is_loaded_that_nobody_asked_for(installed):
    installed(Broken)
    assert () == selection.plugins([])


def test_of_kinds_of_which_one_is_wrong_none_is_added(installed):
    class Half(Mine):
        finding_kinds = (OWN, "job.of_mine")  # type: ignore[assignment]

    installed(Half)
    with pytest.raises(SelectionError):
        selection.plugins(["mine"])
    assert OWN.kind not in findings.catalogue()
