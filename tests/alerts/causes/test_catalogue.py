"""The catalogue of causes as data: everything that it names exists, every weight has its sign."""

import re
from pathlib import Path

import pytest

from rankscope.alerts.causes.catalogue import catalogue, parse
from rankscope.vocabulary import faults
from rankscope.vocabulary import findings as kinds
from rankscope.vocabulary.tables import TableError

ROOT = Path(__file__).resolve().parents[3]
EVERY = pytest.mark.parametrize("cause", catalogue().causes, ids=lambda cause: cause.fault)


def test_the_four_faults_of_the_demo_are_there():
    faults_held = {cause.fault for cause in catalogue().causes}
    assert {
        "host.cpu_contention", "software.stuck_process", "numerics.nan_rank", "software.crash",
    } <= faults_held  # fmt: skip


def test_no_fault_stands_twice_and_unknown_is_the_engines_own():
    faults_held = [cause.fault for cause in catalogue().causes]
    assert sorted(set(faults_held)) == sorted(faults_held)
    assert faults.UNKNOWN not in faults_held


@EVERY
def test_the_fault_is_in_the_vocabulary(cause):
    assert cause.fault in faults.catalogue()


@EVERY
def test_it_begins_with_symptoms_and_predicts_findings_of_the_vocabulary(cause):
    assert cause.symptoms
    for kind in cause.symptoms:
        assert kinds.catalogue()[kind].symptom
    for prediction in (*cause.predicts, *cause.contradicts):
        assert prediction.finding in kinds.catalogue()
        assert prediction.at in ("self", "ranks", "host", "job")


@EVERY
def test_what_it_covers_it_also_predicts(cause):
    assert set(cause.covers) <= {prediction.finding for prediction in cause.predicts}


@EVERY
def test_its_entities_can_be_reached_from_what_it_predicts(cause):
    """Some predicted finding stands on a type that is, or leads to, a type the fault points at."""
    leads_to = {
        "rank": {"rank", "host", "gpu", "job"},
        "gpu": {"gpu", "host", "rank", "job"},
        "host": {"host", "job"},
        "job": {"job", "code"},
        "process": {"process", "host", "rank", "gpu", "job"},
        "group": {"group"},
        "nic": {"nic", "host", "switch", "job"},
        "switch": {"switch", "job"},
        "storage": {"storage", "host", "job"},
    }
    allowed = set(faults.catalogue()[cause.fault].entities)
    seen = {e for p in cause.predicts for e in kinds.catalogue()[p.finding].entities}
    assert any(leads_to[entity] & allowed for entity in seen)


@EVERY
def test_weights_have_their_signs(cause):
    assert 0 < cause.share < 1
    for prediction in cause.predicts:
        assert prediction.present > 0 >= prediction.absent
    for prediction in cause.contradicts:
        assert prediction.present < 0
        assert not prediction.essential


def test_shares_leave_room_for_what_the_catalogue_does_not_hold():
    assert sum(cause.share for cause in catalogue().causes) < 1


@EVERY
def test_it_says_what_to_do_now(cause):
    assert "now" in {action.when for action in cause.actions}
    for advice in (*cause.actions, *cause.checks):
        assert advice.text.strip()
        assert advice.when in ("now", "investigate")
        blanks = set(re.findall(r"\{(\w+)\}", advice.text + advice.command))
        assert blanks <= {"job", "host", "rank", "pid", "id"}


@EVERY
def test_checks_separate_it_from_other_faults(cause):
    for check in cause.checks:
        assert check.separates
        assert set(check.separates) <= set(faults.catalogue()) - {cause.fault}


@EVERY
def test_its_runbook_is_a_page_of_this_repository(cause):
    assert f"docs/runbooks/{cause.fault}.md" == cause.runbook
    assert (ROOT / cause.runbook).is_file()


def test_unknown_has_a_runbook_too():
    assert (ROOT / "docs/runbooks/unknown.md").is_file()


def test_every_runbook_belongs_to_a_cause():
    pages = {page.stem for page in (ROOT / "docs/runbooks").glob("*.md")}
    assert {cause.fault for cause in catalogue().causes} | {faults.UNKNOWN} == pages


def test_a_catalogue_with_an_unknown_weight_is_refused():
    with pytest.raises(TableError, match="weights: there is no key typo"):
        parse('version = "1"\n[weights]\ntypo = 1.0\n', "fault = []")
