"""No page has a serious violation that axe-core finds, light or dark (MPL-2.0, in tests only)."""

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.programs

AXE = Path(__file__).with_name("vendor") / "axe" / "axe.min.js"
PAGES = {
    "": ".wide-figures",
    "incidents": ".incidents tbody",
    "incidents/5b8e1f0c2a7d4c93": ".panel .frame[data-drawn]",
    "jobs": ".jobs tbody",
    "jobs/llm-7b": ".waits [data-drawn]",
    "nodes": ".nodes tbody",
    "nodes/gpu-12": ".part-curves .frame[data-drawn]",
    "report": "main h2",
    "actions": ".actions tbody",
    "deliveries": ".deliveries tbody",
    "api": ".operations",
    "runbooks/host.cpu_contention": ".runbook h2",
}


SERIOUS = """
axe.run(document, {resultTypes: ['violations']}).then(({violations}) => violations
  .filter(one => ['serious', 'critical'].includes(one.impact))
  .map(one => `${one.id}: ${one.nodes.slice(0, 3).map(node => node.html.slice(0, 160))}`))
"""


@pytest.mark.parametrize("page", PAGES)
def test_no_page_has_a_serious_violation(browser: Any, serve: Any, documents: Any, page: str):
    collector = serve([documents.incident()])
    collector.webhooks = [documents.HOOK]
    collector.actions = [documents.action()]
    browser.open(f"{collector.address}/#/{page}")
    browser.wait(f"document.querySelector({PAGES[page]!r})")
    browser.wait("document.getElementById('live').dataset.state === 'live'")
    browser.run(AXE.read_text())
    found = {}
    try:
        for scheme in ("light", "dark"):
            browser.scheme(scheme)
            browser.wait(f"matchMedia('(prefers-color-scheme: {scheme})').matches")
            browser.wait("document.getAnimations().length === 0")  # colours change over a moment
            found[scheme] = browser.run(SERIOUS)
    finally:
        browser.scheme("light")
    assert {"light": [], "dark": []} == found
