"""The list of incidents: what it shows, in which order, and how it stays up to date."""

from typing import Any

import pytest
from tests.dashboards.reading import rows

pytestmark = pytest.mark.programs


def test_the_list_shows_what_where_since_when_and_the_cost(
    browser: Any, serve: Any, documents: Any
):
    collector = serve([documents.incident()])
    browser.open(f"{collector.address}/#/incidents")
    [[what, where, job, opened, _lasted, lost, status]] = rows(browser)
    assert "CPU contention" in what
    assert "warning" in what
    assert "Steps of llm-7b take 2.9 times as long" in what
    assert "host gpu-12" == where
    assert "llm-7b" == job
    assert opened.count(":") == 2
    assert "3.7 GPU-min" == lost
    assert "open" == status


def test_the_list_puts_the_worst_first_and_resolved_ones_under_their_filter(
    browser: Any, serve: Any, documents: Any
):
    collector = serve(
        [
            documents.incident(id="a1", severity="info", summary="least"),
            documents.incident(id="a2", severity="critical", summary="worst"),
            documents.incident(id="a3", status="resolved", summary="over"),
        ]
    )
    browser.open(f"{collector.address}/#/incidents")
    assert ["worst", "least"] == [row[0].splitlines()[-1] for row in rows(browser)]
    browser.run("document.querySelector('input[value=resolved]').click()")
    browser.wait("document.querySelectorAll('main tbody tr').length === 1")
    assert ["over"] == [row[0].splitlines()[-1] for row in rows(browser)]
    assert "#/incidents?status=resolved" == browser.run("location.hash")


def test_an_incident_appears_without_a_reload_once_it_is_announced(
    browser: Any, serve: Any, documents: Any
):
    collector = serve([])
    browser.open(f"{collector.address}/#/incidents")
    browser.wait("document.querySelector('.nothing')")
    browser.wait("document.getElementById('live').innerText === 'live'")
    collector.incidents = [documents.incident()]
    collector.say("incident.opened", {"id": collector.incidents[0]["id"]})
    assert 1 == len(rows(browser))


def test_without_events_the_list_is_polled(browser: Any, serve: Any, documents: Any):
    collector = serve([])
    browser.open(f"{collector.address}/#/incidents")
    browser.wait("document.querySelector('.nothing')")
    collector.incidents = [documents.incident()]
    assert 1 == len(rows(browser))


def test_the_list_can_be_walked_with_the_keyboard(browser: Any, serve: Any, documents: Any):
    collector = serve([documents.incident(id="a1"), documents.incident(id="a2", severity="info")])
    browser.open(f"{collector.address}/#/incidents")
    rows(browser)
    browser.press("j")
    browser.press("j")
    assert "a2" == browser.run("document.activeElement.dataset.key")
    browser.press("k")
    assert "a1" == browser.run("document.activeElement.dataset.key")
