"""The console in a real browser, against a server that answers as the collector does."""

from typing import Any

import pytest

pytestmark = pytest.mark.acceptance

HOSTILE = (
    """<script>document.title="owned"</script><img src=x onerror='document.title="owned"'>"'&"""
)


def text(browser: Any, selector: str) -> str:
    """Return the text of the first element that matches, once there is one."""
    query = f"document.querySelector({selector!r})"
    return str(browser.wait(f"{query} && {query}.innerText"))


def rows(browser: Any) -> list[list[str]]:
    """Return the cells of the shown table, row by row."""
    script = (
        "(found => found.length && found)([...document.querySelectorAll('main tbody tr')]"
        ".map(row => [...row.cells].map(cell => cell.innerText.trim())))"
    )
    return list(browser.wait(script))


def test_the_list_shows_what_where_since_when_and_the_cost(
    browser: Any, serve: Any, documents: Any
):
    collector = serve([documents.incident()])
    browser.open(f"{collector.address}/")
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
    browser.open(f"{collector.address}/")
    browser.wait("document.querySelector('.nothing')")
    browser.wait("document.getElementById('live').innerText === 'live'")
    collector.incidents = [documents.incident()]
    collector.say("incident.opened", {"id": collector.incidents[0]["id"]})
    assert 1 == len(rows(browser))


def test_without_events_the_list_is_polled(browser: Any, serve: Any, documents: Any):
    collector = serve([])
    browser.open(f"{collector.address}/")
    browser.wait("document.querySelector('.nothing')")
    collector.incidents = [documents.incident()]
    assert 1 == len(rows(browser))


def test_an_incident_leads_with_its_first_cause_place_and_confidence(
    browser: Any, serve: Any, documents: Any
):
    collector = serve([documents.incident()])
    browser.open(f"{collector.address}/#/incidents/5b8e1f0c2a7d4c93")
    assert text(browser, "h1").startswith("Steps of llm-7b take 2.9 times as long")
    answer = text(browser, ".answer")
    for word in ("CPU contention", "host gpu-12", "ranks 2, 3", "high confidence", "+7.4"):
        assert word in answer


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


def test_the_plot_highlights_the_culprits_among_their_peers(
    browser: Any, serve: Any, documents: Any
):
    collector = serve([documents.incident()])
    browser.open(f"{collector.address}/#/incidents/5b8e1f0c2a7d4c93")
    caption = text(browser, "figcaption")
    assert caption.startswith("Since the onset, training.compute.duration of ranks 2, 3: median 5")
    assert "on 2 peers" in caption
    assert ["2", "3"] == browser.wait(
        "(() => { const found = [...document.querySelectorAll('svg path.culprit')];"
        "return found.length && found.map(path => path.dataset.rank) })()"
    )
    assert 2 == browser.run("document.querySelectorAll('svg path.peer').length")
    assert 1 == browser.run("document.querySelectorAll('svg path.band').length")
    assert "onset" == browser.run("document.querySelector('svg .onset text').textContent")
    heights = browser.run(
        "['culprit', 'peer'].map(name => {"
        "const box = document.querySelector('svg path.' + name).getBBox(); return box.y })"
    )
    assert heights[0] < heights[1], "the culprit's line must rise above its peers'"


def test_another_signal_of_the_evidence_can_be_drawn(browser: Any, serve: Any, documents: Any):
    collector = serve([documents.incident()])
    browser.open(f"{collector.address}/#/incidents/5b8e1f0c2a7d4c93")
    browser.wait("document.querySelector('svg path.culprit')")
    browser.run(
        "[...document.querySelectorAll('.tabs button')]"
        ".find(one => one.innerText === 'process.cpu.wait').click()"
    )
    caption = browser.wait(
        "(() => { const text = document.querySelector('figcaption').innerText;"
        "return text.includes('process.cpu.wait') && text })()"
    )
    assert "median 0.66 s/s against 0.01 s/s" in caption


def test_values_that_are_not_numbers_are_marked(browser: Any, serve: Any, documents: Any):
    incident = documents.incident()
    incident["root_cause"]["hypotheses"][0]["evidence"][0]["signal"] = "training.loss"
    collector = serve([incident])
    browser.open(f"{collector.address}/#/incidents/{incident['id']}")
    assert "NaN or Inf" == browser.wait(
        "document.querySelector('svg .culprit-broken text')?.textContent"
    )
    assert "not finite" in text(browser, "figcaption")


def test_where_every_rank_is_accused_none_is_highlighted(browser: Any, serve: Any, documents: Any):
    incident = documents.incident()
    entity = {"type": "job", "id": "llm-7b", "host": None, "ranks": [0, 1, 2, 3]}
    incident["root_cause"]["hypotheses"][0].update(fault="unknown", entity=entity)
    collector = serve([incident])
    browser.open(f"{collector.address}/#/incidents/{incident['id']}")
    browser.wait("document.querySelector('figure svg')")
    assert 0 == browser.run("document.querySelectorAll('svg path.culprit').length")
    assert 4 == browser.run("document.querySelectorAll('svg path.peer').length")
    assert 1 == text(browser, ".contest").count("Unknown")


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
    assert HOSTILE == text(browser, "h1.summary-line")
    browser.wait("document.querySelector('figure svg path.culprit')")
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
    collector.answers["jobs/x/series"] = (200, {"series": []})
    browser.open(f"{collector.address}/#/incidents/{document['id']}")
    assert text(browser, ".answer")
    assert browser.run("document.querySelector('.problem')") is None
    browser.open(f"{collector.address}/#/incidents?status=all")
    assert 1 == len(rows(browser))


def test_a_token_is_asked_for_once_and_kept_for_the_tab(browser: Any, serve: Any, documents: Any):
    collector = serve([documents.incident()], token="Bearer secret")
    browser.open(f"{collector.address}/")
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
    assert ["1", "3", "5"] == browser.wait(
        "(() => { const found = [...document.querySelectorAll('svg path.culprit')];"
        "return found.length && found.map(path => path.dataset.rank) })()"
    )


def test_variants_of_a_metric_are_not_drawn_as_one(browser: Any, serve: Any, documents: Any):
    """The reduced gradient norm is the same on every rank; the local one tells ranks apart."""
    incident = documents.incident()
    incident["root_cause"]["hypotheses"][0]["evidence"][0]["signal"] = "training.grad_norm"
    collector = serve([incident])
    browser.open(f"{collector.address}/#/incidents/{incident['id']}")
    assert "training.grad_norm (scope=local) of ranks 2, 3" in text(browser, "figcaption")
    assert 2 == browser.run("document.querySelectorAll('svg path.peer').length")


def test_the_job_page_shows_every_rank_and_who_is_behind(browser: Any, serve: Any, documents: Any):
    collector = serve([documents.incident()])
    browser.open(f"{collector.address}/#/jobs/llm-7b")
    lines = rows(browser)
    assert ["0", "gpu-11", "0", "–", "4000", "420 8 behind", "5.1 s"] == lines[0]  # noqa: RUF001
    assert "behind" == browser.run("document.querySelector('main tbody tr').className")
    assert 4 == browser.wait("document.querySelectorAll('svg path.peer').length")
    assert "CPU contention" in text(browser, ".plain")


def test_the_list_can_be_walked_with_the_keyboard(browser: Any, serve: Any, documents: Any):
    collector = serve([documents.incident(id="a1"), documents.incident(id="a2", severity="info")])
    browser.open(f"{collector.address}/")
    rows(browser)
    browser.press("j")
    browser.press("j")
    assert "a2" == browser.run("document.activeElement.dataset.key")
    browser.press("k")
    assert "a1" == browser.run("document.activeElement.dataset.key")
