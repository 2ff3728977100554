"""The console in a real browser, against a server that answers as the collector does."""

from typing import Any

import pytest
from tests.dashboards.reading import DRAWN, narrow, rows, similar, text

pytestmark = pytest.mark.programs

PAGES = ["", "incidents", "incidents/5b8e1f0c2a7d4c93", "jobs", "jobs/llm-7b", "nodes",
         "nodes/gpu-12", "report", "actions", "deliveries", "api",
         "runbooks/host.cpu_contention"]  # fmt: skip

HOSTILE = (
    """<script>document.title="owned"</script><img src=x onerror='document.title="owned"'>"'&"""
)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("page", PAGES)
def test_nothing_is_cut_off_on_a_phone(
    browser: Any, serve: Any, documents: Any, page: str, language: str
):
    collector = serve([documents.incident()])
    collector.report = [_reported()]
    collector.webhooks = [documents.HOOK]
    collector.actions = [documents.action()]
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
            "costliest_fault": "host.cpu_contention", "gpu_hours_gained": 9.0,
            "gpu_hours_gained_low": 8.0, "gpu_hours_gained_high": 10.0}  # fmt: skip


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
        "2026-W47", "ann", "121", "12", "9 GPU-h", "90 %", "2", "12 s", "–", "10 min",  # noqa: RUF001
        "CPU contention",
    ] == rows(browser)[0]  # fmt: skip
    assert "3 incidents, 2 jobs" in text(browser, ".contest")


@pytest.mark.parametrize("page", ["jobs/llm-7b", "nodes/gpu-12"])
def test_observations_stand_folded_below_the_incidents(browser: Any, serve: Any, page: str):
    collector = serve([])
    entity = {"type": "process", "id": "gpu-12:4711", "host": "gpu-12", "ranks": [2]}
    collector.observations = [
        {"at": "2026-11-20T14:00:00.000Z", "until": "2026-11-20T14:05:00.000Z", "job": "llm-7b",
         "kind": "process.memory_grows", "entity": entity, "text": HOSTILE, "magnitude": None},
    ]  # fmt: skip
    browser.open(f"{collector.address}/#/{page}")
    assert "Observations 1 observation" == text(browser, ".part-observations summary")
    browser.run("document.querySelector('.part-observations summary').click()")
    ((what, where, _, lasted),) = rows(browser, ".part-observations tbody tr")
    assert (HOSTILE, "5 min") == (what, lasted)
    assert "gpu-12" in where
    asked = next(path for path in collector.asked if "/observations?" in path)
    assert page.partition("/")[2] in asked


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
    collector.similar = [similar(fault=HOSTILE, reasons=[HOSTILE], jobs=[HOSTILE])]
    browser.wait(DRAWN)
    assert browser.run("document.querySelector('main').innerText").count("<script>") > 8
    assert 0 == browser.run("document.querySelectorAll('main script, main img').length")
    assert 0 == browser.run("document.querySelectorAll('main a[href^=javascript]').length")
    assert "owned" not in browser.run("document.title").split()
    browser.open(browser.run("document.querySelector('.facts a').href"))
    assert HOSTILE == text(browser, "h1.id")


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
