"""The console in a real browser, against a server that answers as the collector does."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

pytestmark = pytest.mark.acceptance

PAGES = ["", "incidents", "incidents/5b8e1f0c2a7d4c93", "jobs", "jobs/llm-7b", "nodes",
         "nodes/gpu-12", "report", "deliveries", "api",
         "runbooks/host.cpu_contention"]  # fmt: skip

HOSTILE = (
    """<script>document.title="owned"</script><img src=x onerror='document.title="owned"'>"'&"""
)


def text(browser: Any, selector: str) -> str:
    """Return the text of the first element that matches, once there is one."""
    query = f"document.querySelector({selector!r})"
    return str(browser.wait(f"{query} && {query}.innerText"))


@contextmanager
def narrow(browser: Any) -> Iterator[None]:
    """Show pages as wide as a phone's."""
    browser.size(390, 844)
    try:
        yield
    finally:
        browser.size(1440, 900)


def rows(browser: Any) -> list[list[str]]:
    """Return the cells of the shown table, row by row."""
    script = (
        "(found => found.length && found)("
        "[...document.querySelectorAll('main tbody tr:not(.group)')]"
        ".map(row => [...row.cells].map(cell => cell.innerText.trim())))"
    )
    return list(browser.wait(script))


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


def _similar(**more: Any) -> dict[str, Any]:
    """Return a past incident as the collector lists it."""
    entity = {"type": "host", "id": "gpu-12", "host": "gpu-12", "ranks": [2, 3]}
    said = {"by": "ann", "verdict": "correct", "fault": None, "note": "it was the cable"}
    row = {"id": "a1", "fault": "host.cpu_contention", "entity": entity, "jobs": ["run-1"],
           "reasons": ["same cause"], "opened_at": 1795183000, "feedback": [said],
           "resolved": None}  # fmt: skip
    return {**row, **more}


def test_the_page_answers_first_then_says_what_to_do_and_why(
    browser: Any, serve: Any, documents: Any
):
    """In the order of the page on a phone: nobody scrolls to the end to learn what to do."""
    collector = serve([documents.incident()])
    collector.similar = [_similar()]
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


def test_what_people_said_of_a_similar_incident_is_shown(browser: Any, serve: Any, documents: Any):
    collector = serve([documents.incident()])
    collector.similar = [_similar(), _similar(id="a2", feedback=[])]
    browser.open(f"{collector.address}/#/incidents/5b8e1f0c2a7d4c93")
    assert "ann: the cause was right: it was the cable" == text(browser, ".said")
    assert "nobody said whether the cause was right" in text(browser, "main")


def test_the_page_shows_how_the_answer_developed(browser: Any, serve: Any, documents: Any):
    entity = {"type": "host", "id": "gpu-12", "host": "gpu-12", "ranks": [2, 3]}
    change = {"at": 1795183400, "status": "provisional", "fault": "gpu.slow", "entity": entity,
              "confidence": "low", "score": 1.0, "why": "the first ranking"}  # fmt: skip
    collector = serve([documents.incident(cause_history=[change])])
    browser.open(f"{collector.address}/#/incidents/5b8e1f0c2a7d4c93")
    page = text(browser, ".others")
    for word in ("How the answer developed", "Slow GPU", "provisional: the first ranking"):
        assert word in page


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("page", PAGES)
def test_nothing_is_cut_off_on_a_phone(
    browser: Any, serve: Any, documents: Any, page: str, language: str
):
    collector = serve([documents.incident()])
    collector.report = [_reported()]
    collector.webhooks = [documents.HOOK]
    with narrow(browser):
        browser.open(f"{collector.address}/#/{page}")
        browser.wait("document.getElementById('live').dataset.state === 'live'")
        browser.run(
            f"(select => {{ select.value = {language!r};"
            " select.dispatchEvent(new Event('change')) })(document.getElementById('language'))"
        )
        browser.wait(f"document.documentElement.lang.startsWith({language!r})")
        browser.wait(
            "document.querySelector('main td, main .answer, main .operations, main .runbook h2')"
        )
        assert browser.run("document.documentElement.scrollWidth") <= 390
        assert [] == browser.run(
            "[...document.querySelectorAll('main *')]"
            ".filter(one => one.getBoundingClientRect().right > 391 && !one.closest('pre'))"
            ".map(one => one.className)"
        )


def _reported() -> dict[str, Any]:
    return {"week": "2026-W47", "user": "ann", "job": None, "fault": None, "gpu_hours_used": 120.5,
            "gpu_hours_lost": 12.0, "goodput": 0.9, "incidents": 2, "mttd_seconds": 12.0,
            "mtta_seconds": None, "mttr_seconds": 600.0,
            "costliest_fault": "host.cpu_contention"}  # fmt: skip


def test_the_report_shows_what_users_used_and_lost_and_who_repeats(browser: Any, serve: Any):
    collector = serve([])
    collector.report = [_reported()]
    named = {"incident": "a1", "fault": "gpu.slow", "opened_at": 1795183000, "jobs": ["run-1"],
             "entity": "gpu-12", "verdict": "correct"}  # fmt: skip
    collector.offenders = [{"type": "host", "id": "gpu-12", "host": "gpu-12", "incidents": 3,
                            "jobs": ["run-1", "run-2"], "faults": {"gpu.slow": 3},
                            "gpu_hours_lost": 4.0, "record": [named]}]  # fmt: skip
    browser.open(f"{collector.address}/#/report")
    assert [
        "2026-W47", "ann", "121", "12", "90 %", "2", "12 s", "–", "10 min",  # noqa: RUF001
        "CPU contention",
    ] == rows(browser)[0]  # fmt: skip
    assert "3 incidents, 2 jobs" in text(browser, ".contest")


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


DRAWN = "document.querySelector('.panel figure .frame[data-drawn] canvas')"


def test_the_plot_highlights_the_culprits_among_their_peers(
    browser: Any, serve: Any, documents: Any
):
    collector = serve([documents.incident()])
    browser.open(f"{collector.address}/#/incidents/5b8e1f0c2a7d4c93")
    caption = text(browser, ".panel figcaption")
    assert caption.startswith("Compute time since the onset: ranks 2, 3 median 5")
    assert "on 2 peers" in caption
    browser.wait(DRAWN)
    assert "2,3" == browser.run("document.querySelector('.panel figure').dataset.culprits")
    assert "2" == browser.run("document.querySelector('.panel figure').dataset.peers")
    assert caption == browser.run("document.querySelector('.panel .frame').ariaLabel")
    assert browser.wait(_has_colour("--culprit")), "the culprit's line is drawn in its colour"


def _has_colour(name: str) -> str:
    """Return a script that looks for a pixel of this colour of the style in the plot's canvas."""
    return f"""(() => {{
      const style = getComputedStyle(document.documentElement).getPropertyValue({name!r}).trim();
      const wanted = [1, 3, 5].map((at) => parseInt(style.slice(at, at + 2), 16));
      const canvas = {DRAWN};
      const {{ data }} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      const near = (at) => wanted.every((part, index) => Math.abs(data[at + index] - part) < 12);
      for (let at = 0; at < data.length; at += 4) if (data[at + 3] > 200 && near(at)) return true;
      return false;
    }})()"""


def test_values_of_the_plot_are_read_with_the_keyboard(browser: Any, serve: Any, documents: Any):
    collector = serve([documents.incident()])
    browser.open(f"{collector.address}/#/incidents/5b8e1f0c2a7d4c93")
    browser.wait(DRAWN)
    browser.run("document.querySelector('.panel .frame').focus()")
    browser.press("ArrowLeft")
    said = browser.wait(
        "(found => found.includes('rank 2') && found)"
        "(document.querySelector('.panel .reading').innerText)"
    )
    assert "rank 3 5" in said


def test_another_signal_of_the_evidence_can_be_drawn(browser: Any, serve: Any, documents: Any):
    collector = serve([documents.incident()])
    browser.open(f"{collector.address}/#/incidents/5b8e1f0c2a7d4c93")
    browser.wait(DRAWN)
    browser.run(
        "[...document.querySelectorAll('.tabs button')]"
        ".find(one => one.innerText === 'Waiting for a CPU').click()"
    )
    caption = browser.wait(
        "(() => { const text = document.querySelector('.panel figcaption').innerText;"
        "return text.startsWith('Waiting for a CPU') && text })()"
    )
    assert "median 0.66 s/s against 0.01 s/s" in caption


def test_values_that_are_not_numbers_are_marked(browser: Any, serve: Any, documents: Any):
    incident = documents.incident()
    incident["root_cause"]["hypotheses"][0]["evidence"][0]["signal"] = "training.loss"
    collector = serve([incident])
    browser.open(f"{collector.address}/#/incidents/{incident['id']}")
    assert "NaN" in text(browser, ".broken")
    assert "not finite" in text(browser, ".panel figcaption")


def test_where_every_rank_is_accused_none_is_highlighted(browser: Any, serve: Any, documents: Any):
    incident = documents.incident()
    entity = {"type": "job", "id": "llm-7b", "host": None, "ranks": [0, 1, 2, 3]}
    incident["root_cause"]["hypotheses"][0].update(fault="unknown", entity=entity)
    collector = serve([incident])
    browser.open(f"{collector.address}/#/incidents/{incident['id']}")
    browser.wait(DRAWN)
    assert "4" == browser.run("document.querySelector('.panel figure').dataset.peers")
    assert "" == browser.run("document.querySelector('.panel figure').dataset.culprits")
    assert 1 == text(browser, ".contest").count("Unknown")


def test_an_incident_older_than_the_windows_is_drawn_from_the_journal(
    browser: Any, serve: Any, documents: Any
):
    collector = serve([documents.incident(status="resolved", resolved_at=documents.ONSET + 80)])
    collector.only_in_journal = True
    browser.open(f"{collector.address}/#/incidents/5b8e1f0c2a7d4c93")
    browser.wait(DRAWN)
    assert "Read again from the journal" in text(browser, ".panel")
    asked = [one for one in collector.asked if "source=journal" in one]
    first = next(one for one in asked if "training.compute.duration" in one)
    assert "from=1795183325" in first, "the range begins before the onset"
    assert "to=1795183480" in first, "and goes on beyond the end"


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


def test_hostile_text_stays_text(browser: Any, serve: Any, documents: Any):
    incident = documents.incident(job=HOSTILE, jobs=[HOSTILE], summary=HOSTILE, cluster=HOSTILE)
    hypothesis = incident["root_cause"]["hypotheses"][0]
    hypothesis["fault"] = HOSTILE
    hypothesis["runbook"] = "javascript:document.title='owned'"
    hypothesis["entity"] = {"type": "host", "id": HOSTILE, "host": HOSTILE, "ranks": [2]}
    for line in hypothesis["evidence"]:
        line.update(text=HOSTILE, signal=HOSTILE, family=HOSTILE, observed=HOSTILE)
    hypothesis["actions"][0].update(text=HOSTILE, command=HOSTILE)
    incident["timeline"][0].update(text=HOSTILE, kind=HOSTILE)
    incident["root_cause"]["unknown"]["reasons"] = [HOSTILE]
    incident["root_cause"]["data_quality"]["missing"] = [HOSTILE]
    collector = serve([incident])
    browser.open(f"{collector.address}/#/incidents")
    assert HOSTILE in rows(browser)[0][0]
    browser.open(f"{collector.address}/#/incidents/{incident['id']}")
    assert HOSTILE == text(browser, "h1.fault")
    collector.similar = [_similar(fault=HOSTILE, reasons=[HOSTILE], jobs=[HOSTILE])]
    browser.wait(DRAWN)
    assert browser.run("document.querySelector('main').innerText").count("<script>") > 8
    assert 0 == browser.run("document.querySelectorAll('main script, main img').length")
    assert 0 == browser.run("document.querySelectorAll('main a[href^=javascript]').length")
    assert "owned" not in browser.run("document.title").split()
    browser.open(browser.run("document.querySelector('.facts a').href"))
    assert HOSTILE == text(browser, "h1.id")


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


def test_a_token_is_asked_for_once_and_kept_for_the_tab(browser: Any, serve: Any, documents: Any):
    collector = serve([documents.incident()], token="Bearer secret")
    browser.open(f"{collector.address}/#/incidents")
    browser.wait("document.getElementById('token').open")
    browser.run("document.getElementById('token-text').value = 'secret'")
    browser.run("document.getElementById('token-use').click()")
    assert 1 == len(rows(browser))
    browser.run("window.before = true; location.reload()")
    browser.wait("!window.before")
    assert 1 == len(rows(browser))
    assert browser.run("document.getElementById('token').open") is False
    assert browser.run("localStorage.getItem('rankscope.token')") is None
    # The refused first calls are in the browser's log as errors; they were the point.
    browser.errors[:] = [one for one in browser.errors if "401" not in one]


def test_an_unknown_incident_says_so_and_the_console_goes_on(browser: Any, serve: Any):
    collector = serve([])
    browser.open(f"{collector.address}/#/incidents/nothing")
    assert "No such incident" in text(browser, ".problem")
    browser.open(f"{collector.address}/#/jobs")
    assert "llm-7b" == rows(browser)[0][0]
    browser.errors[:] = [one for one in browser.errors if "404" not in one]


def test_an_incident_can_be_acknowledged_and_its_cause_confirmed(
    browser: Any, serve: Any, documents: Any
):
    collector = serve([documents.incident()])
    browser.open(f"{collector.address}/#/incidents/5b8e1f0c2a7d4c93")
    browser.wait("document.querySelector('[data-key=ack]')")
    browser.run("document.querySelector('[data-key=right]').click()")
    browser.wait("document.querySelector('.answer [role=status]')")
    browser.run("document.querySelector('[data-key=ack]').click()")
    browser.wait("document.querySelector('.pills .status').innerText === 'acknowledged'")
    path = "/api/v1/incidents/5b8e1f0c2a7d4c93"
    assert [(f"{path}/feedback", {"verdict": "correct"}), (f"{path}/ack", {})] == collector.done


def test_a_refused_action_says_why(browser: Any, serve: Any, documents: Any):
    collector = serve([documents.incident()])
    browser.open(f"{collector.address}/#/incidents/5b8e1f0c2a7d4c93")
    browser.wait("document.querySelector('[data-key=resolve]')")
    collector.token = "Bearer of-an-admin"
    browser.run("document.querySelector('[data-key=resolve]').click()")
    assert "this needs the role admin" in text(browser, ".refused")
    collector.token = ""
    browser.errors[:] = [one for one in browser.errors if "403" not in one and "401" not in one]


def test_a_reader_is_offered_no_action(browser: Any, serve: Any, documents: Any):
    """A token of the role read may look; buttons that end in 403 are of no use to it."""
    collector = serve([documents.incident()])
    collector.role = "read"
    browser.open(f"{collector.address}/#/incidents/5b8e1f0c2a7d4c93")
    browser.wait("document.querySelector('.answer')")
    assert 0 == browser.run("document.querySelectorAll('[data-key=ack], [data-key=right]').length")
    assert 0 == browser.run("document.querySelectorAll('[data-key=resolve]').length")


def test_ranks_written_as_ranges_are_highlighted(browser: Any, serve: Any, documents: Any):
    incident = documents.incident()
    incident["root_cause"]["hypotheses"][0]["entity"]["ranks"] = ["1-5:2", "64-127"]
    collector = serve([incident], ranks=8)
    collector.culprits = {1, 3, 5}
    browser.open(f"{collector.address}/#/incidents/{incident['id']}")
    assert "ranks 1-5:2, 64-127" in text(browser, ".answer")
    browser.wait(DRAWN)
    assert "1,3,5" == browser.run("document.querySelector('.panel figure').dataset.culprits")


def test_variants_of_a_metric_are_not_drawn_as_one(browser: Any, serve: Any, documents: Any):
    """The reduced gradient norm is the same on every rank; the local one tells ranks apart."""
    incident = documents.incident()
    incident["root_cause"]["hypotheses"][0]["evidence"][0]["signal"] = "training.grad_norm"
    collector = serve([incident])
    browser.open(f"{collector.address}/#/incidents/{incident['id']}")
    assert "Gradient norm (scope=local) since the onset: ranks 2, 3" in text(
        browser, ".panel figcaption"
    )


def test_the_list_can_be_walked_with_the_keyboard(browser: Any, serve: Any, documents: Any):
    collector = serve([documents.incident(id="a1"), documents.incident(id="a2", severity="info")])
    browser.open(f"{collector.address}/#/incidents")
    rows(browser)
    browser.press("j")
    browser.press("j")
    assert "a2" == browser.run("document.activeElement.dataset.key")
    browser.press("k")
    assert "a1" == browser.run("document.activeElement.dataset.key")
