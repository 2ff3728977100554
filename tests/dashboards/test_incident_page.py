"""One incident's page: the answer first, then what to do and why."""

from typing import Any

import pytest
from tests.dashboards.reading import narrow, rows, similar, text

pytestmark = pytest.mark.programs


def test_an_incident_leads_with_its_first_cause_place_and_confidence(
    browser: Any, serve: Any, documents: Any
):
    collector = serve([documents.incident()])
    browser.open(f"{collector.address}/#/incidents/5b8e1f0c2a7d4c93")
    assert "CPU contention" == text(browser, "h1")
    answer = text(browser, ".answer")
    for word in (
        "CPU contention",
        "host gpu-12",
        "ranks 2, 3",
        "high confidence",
        "+7.4",
        "What the job shows",
    ):
        assert word in answer


def test_the_page_answers_first_then_says_what_to_do_and_why(
    browser: Any, serve: Any, documents: Any
):
    """In the order of the page on a phone: nobody scrolls to the end to learn what to do."""
    collector = serve([documents.incident()])
    collector.similar = [similar()]
    with narrow(browser):
        browser.open(f"{collector.address}/#/incidents/5b8e1f0c2a7d4c93")
        text(browser, ".said")
        order = browser.run(
            "[...document.querySelectorAll('main h1, main h2')]"
            ".sort((a, b) => a.getBoundingClientRect().y - b.getBoundingClientRect().y)"
            ".map(one => one.innerText)"
        )
    assert ["CPU contention", "What to do now", "Impact", "Why CPU contention"] == order[:4]
    assert "What to check next" == order[4]


def test_what_is_over_says_what_to_do_if_it_comes_back(browser: Any, serve: Any, documents: Any):
    """The process that was to be looked into is gone."""
    over = {"status": "resolved", "resolved_at": "2026-11-24T16:20:00.000Z"}
    collector = serve([documents.incident(**over)])
    browser.open(f"{collector.address}/#/incidents/5b8e1f0c2a7d4c93")
    assert "What to do if it comes back" == text(browser, ".now h2")


def test_what_people_said_of_a_similar_incident_is_shown(browser: Any, serve: Any, documents: Any):
    collector = serve([documents.incident()])
    collector.similar = [similar(), similar(id="a2", feedback=[])]
    browser.open(f"{collector.address}/#/incidents/5b8e1f0c2a7d4c93")
    assert "ann: the cause was right: it was the cable" == text(browser, ".said")
    assert "nobody said whether the cause was right" in text(browser, "main")


def test_the_page_says_what_a_step_would_take_without_the_cause(
    browser: Any, serve: Any, documents: Any
):
    """In the figures of the impact, and in a sentence under the plot with interval and basis."""
    found = {
        "step_seconds": 0.29, "without": {"step_seconds": 0.1012, "low": 0.0991, "high": 0.1034},
        "gpu_hours_lost": 0.5, "gpu_hours_an_hour": 2.604, "basis": "phases",
    }  # fmt: skip
    incident = documents.incident()
    incident["impact"]["counterfactual"] = found
    collector = serve([incident])
    browser.open(f"{collector.address}/#/incidents/5b8e1f0c2a7d4c93")
    assert (
        "Steps take 290 ms; without this cause they would take 101.2 ms "
        "(90 % interval 99.1 ms to 103.4 ms), by what each rank does in a step."
    ) == text(browser, ".without")
    figures = text(browser, ".figures")
    for word in ("step time without it", "101 ms 99.1 ms to 103 ms", "2.6 GPU-h"):
        assert word in figures


def test_the_page_shows_how_the_answer_developed(browser: Any, serve: Any, documents: Any):
    entity = {"type": "host", "id": "gpu-12", "host": "gpu-12", "ranks": [2, 3]}
    change = {"at": 1795183400, "status": "provisional", "fault": "gpu.slow", "entity": entity,
              "confidence": "low", "score": 1.0, "why": "the first ranking"}  # fmt: skip
    collector = serve([documents.incident(cause_history=[change])])
    browser.open(f"{collector.address}/#/incidents/5b8e1f0c2a7d4c93")
    page = text(browser, ".others")
    for word in ("How the answer developed", "Slow GPU", "provisional: the first ranking"):
        assert word in page


def test_evidence_shows_sign_weight_observed_and_expected(browser: Any, serve: Any, documents: Any):
    collector = serve([documents.incident()])
    browser.open(f"{collector.address}/#/incidents/5b8e1f0c2a7d4c93")
    lines = rows(browser)
    first = lines[0]
    assert "+" == first[0]
    assert "runnable but not running" in first[1]
    assert ["0.66 s/s", "0.01 s/s", "+2.9"] == first[2:]
    assert {"supports", "contradicts", "missing"} == set(
        browser.run(
            "[...document.querySelectorAll('tr[data-relation]')].map(row => row.dataset.relation)"
        )
    )
    page = text(browser, "main")
    for word in (
        "Slow GPU",
        "Unknown",
        "kubectl cordon gpu-12",
        "separates: CPU contention, Slow GPU",
        "The first cause is stable",
        "hw.gpu.*",
    ):
        assert word in page


def test_the_topology_marks_the_culprit(browser: Any, serve: Any, documents: Any):
    collector = serve([documents.incident()])
    browser.open(f"{collector.address}/#/incidents/5b8e1f0c2a7d4c93")
    browser.wait("document.querySelector('.topology svg')")
    assert ["gpu-12"] == browser.run(
        "[...document.querySelectorAll('.topology .host.culprit')].map(one => one.dataset.host)"
    )
    assert ["2", "3"] == browser.run(
        "[...document.querySelectorAll('.topology .device.culprit')].map(one => one.dataset.rank)"
    )
    assert "gpu-12, among 2 hosts under 1 switch." == text(browser, ".topology-figure figcaption")


def test_no_names_what_it_really_was(browser: Any, serve: Any, documents: Any):
    collector = serve([documents.incident()])
    browser.open(f"{collector.address}/#/incidents/5b8e1f0c2a7d4c93")
    browser.wait("document.querySelector('[data-key=wrong]')")
    browser.run("document.querySelector('[data-key=wrong]').click()")
    browser.run(
        "(form => {"
        "form.querySelector('select').value = 'network.cable_errors';"
        "form.querySelector('[name=entity]').value = 'gpu-12/mlx5_0:1';"
        "form.querySelector('.primary').click() })(document.querySelector('.feedback'))"
    )
    browser.wait("document.querySelector('.feedback [role=status]')")
    assert [
        (
            "/api/v1/incidents/5b8e1f0c2a7d4c93/feedback",
            {"verdict": "wrong", "fault": "network.cable_errors", "entity": "gpu-12/mlx5_0:1"},
        )
    ] == collector.done


@pytest.mark.parametrize(
    "document",
    [
        {"id": "5b8e1f0c2a7d4c93"},
        {"id": "5b8e1f0c2a7d4c93", "root_cause": {"hypotheses": []}, "job": None},
        {"id": "5b8e1f0c2a7d4c93", "root_cause": {"hypotheses": [{"evidence": [{}]}]}, "job": "x"},
        {"id": "5b8e1f0c2a7d4c93", "timeline": None, "impact": None, "root_cause": None},
    ],
    ids=["bare", "no hypotheses", "an empty hypothesis", "nulls"],
)
def test_a_document_with_missing_parts_is_still_shown(
    browser: Any, serve: Any, document: dict[str, Any]
):
    collector = serve([document])
    collector.answers["jobs/x/distribution"] = (200, {"held_from": None, "variants": []})
    collector.answers["topology"] = (200, {"nodes": [], "edges": []})
    browser.open(f"{collector.address}/#/incidents/{document['id']}")
    assert text(browser, ".answer")
    assert browser.run("document.querySelector('.problem')") is None
    browser.open(f"{collector.address}/#/incidents?status=all")
    assert 1 == len(rows(browser))
