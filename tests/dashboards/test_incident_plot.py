"""The plot beside the evidence: culprits among their peers."""

from typing import Any

import pytest
from tests.dashboards.reading import DRAWN, text

pytestmark = pytest.mark.programs


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
