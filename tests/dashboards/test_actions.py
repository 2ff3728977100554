"""What was done about causes: on an incident's page, and all of it on a page of its own."""

from typing import Any

import pytest
from tests.dashboards.reading import rows, text

pytestmark = pytest.mark.programs

INCIDENT = "5b8e1f0c2a7d4c93"


def test_an_incident_says_what_is_planned_and_a_person_may_veto_it(
    browser: Any, serve: Any, documents: Any
):
    collector = serve([documents.incident()])
    collector.actions = [documents.action()]
    browser.open(f"{collector.address}/#/incidents/{INCIDENT}")
    part = text(browser, ".remedies")
    for word in ("take gpu-12 out of service", "planned", "begins, unless somebody vetoes it"):
        assert word in part
    assert 0 == browser.run("document.querySelectorAll('[data-key^=undo]').length")
    browser.run("document.querySelector('[data-key^=veto]').click()")
    browser.wait("document.querySelector('.remedies [role=status]')")
    assert [("/api/v1/actions/act-1/veto", {})] == collector.done


def test_what_was_done_can_be_undone_and_says_whether_it_helped(
    browser: Any, serve: Any, documents: Any
):
    collector = serve([documents.incident()])
    collector.actions = [documents.action(state="done", outcome="recovered")]
    browser.open(f"{collector.address}/#/incidents/{INCIDENT}")
    part = text(browser, ".remedies")
    for word in ("done", "the job recovered", "step time before: 1.5 s, after: 800 ms"):
        assert word in part
    browser.run("document.querySelector('[data-key^=undo]').click()")
    browser.wait("document.querySelector('.remedies [role=status]')")
    assert [("/api/v1/actions/act-1/undo", {})] == collector.done


@pytest.mark.parametrize(
    "more",
    [
        {"mode": "dry_run", "state": "done"},
        {"action": "restart", "state": "done"},
        {"state": "done", "undo": "wanted"},
    ],
)
def test_nothing_is_offered_where_there_is_nothing_to_take_back(
    browser: Any, serve: Any, documents: Any, more: dict[str, str]
):
    collector = serve([documents.incident()])
    collector.actions = [documents.action(**more)]
    browser.open(f"{collector.address}/#/incidents/{INCIDENT}")
    text(browser, ".remedies")
    assert 0 == browser.run("document.querySelectorAll('.remedies button').length")


def test_who_may_only_read_decides_nothing(browser: Any, serve: Any, documents: Any):
    collector = serve([documents.incident()])
    collector.actions = [documents.action()]
    collector.role = "read"
    browser.open(f"{collector.address}/#/incidents/{INCIDENT}")
    text(browser, ".remedies")
    assert 0 == browser.run("document.querySelectorAll('[data-key^=veto]').length")


def test_an_incident_without_actions_says_nothing_of_them(browser: Any, serve: Any, documents: Any):
    collector = serve([documents.incident()])
    browser.open(f"{collector.address}/#/incidents/{INCIDENT}")
    text(browser, ".now")
    assert not browser.run("document.querySelector('.remedies')")


def test_the_record_shows_how_often_actions_were_right(browser: Any, serve: Any, documents: Any):
    collector = serve([documents.incident()])
    collector.actions = [documents.action(state="done", outcome="not_recovered", mode="dry_run")]
    browser.open(f"{collector.address}/#/actions")
    (sums,) = rows(browser, ".tally tbody tr")
    assert ["Slow GPU", "slurm", "5", "3", "1", "1", "2", "0", "0", "0"] == sums
    (row,) = rows(browser, ".actions tbody tr")
    assert "take gpu-12 out of service" == row[0]
    assert "done (dry run) the job did not recover" in row[3]


def test_where_nothing_was_planned_the_page_says_how_to_begin(
    browser: Any, serve: Any, documents: Any
):
    collector = serve([documents.incident()])
    browser.open(f"{collector.address}/#/actions")
    assert "mode: dry_run" in text(browser, ".nothing")


def test_a_node_that_passed_no_check_is_taken_back_by_a_button_of_its_own(
    browser: Any, serve: Any, documents: Any
):
    collector = serve([documents.incident()])
    collector.actions = [documents.action(state="done")]
    browser.open(f"{collector.address}/#/incidents/{INCIDENT}")
    text(browser, ".remedies")
    browser.run("document.querySelector('.remedies .unchecked').open = true")
    browser.run("document.querySelector('[data-key^=\"unchecked undo\"]').click()")
    browser.wait("document.querySelector('.remedies [role=status]')")
    assert [("/api/v1/actions/act-1/undo", {"without_check": True})] == collector.done
