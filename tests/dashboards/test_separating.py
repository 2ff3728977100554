"""The check that tells an incident's causes apart: its command, a button, and what came of it."""

from typing import Any

import pytest
from tests.dashboards.reading import text

pytestmark = pytest.mark.programs

INCIDENT = "5b8e1f0c2a7d4c93"
NEXT: dict[str, Any] = {
    "check": "matmul", "help": "Floating-point operations a second", "host": "gpu-12",
    "gain_bits": 0.412, "device_seconds": 20.0, "separates": ["gpu.slow", "gpu.thermal_throttle"],
    "command": f"ssh gpu-12 rankscope check --incident {INCIDENT[:8]}", "requestable": True,
}  # fmt: skip
ASKED: dict[str, Any] = {
    "id": "r1", "check": "matmul", "host": "gpu-12", "by": "ann",
    "at": "2026-11-20T14:03:20.000Z", "status": "running", "text": "",
}  # fmt: skip
RESULT = {
    "check": "matmul", "device": "GPU-1", "host": "gpu-12", "verdict": "slow",
    "reason": "12% below 590 TFLOP/s",
}  # fmt: skip


@pytest.fixture
def page(browser: Any, serve: Any, documents: Any):
    """Return a function that opens an incident with what is known of its checks."""

    def open_page(**found: Any) -> Any:
        collector = serve([documents.incident()])
        known: dict[str, Any] = {"next": None, "why": "", "requests": [], "results": []}
        collector.answers[f"incidents/{INCIDENT}/checks"] = 200, known | found
        browser.open(f"{collector.address}/#/incidents/{INCIDENT}")
        return collector

    return open_page


def test_the_check_is_shown_with_its_command_and_asked_for_by_a_button(browser: Any, page: Any):
    collector = page(next=NEXT)
    part = text(browser, ".separating")
    for word in ("matmul", "on gpu-12", "expected gain 0.41", NEXT["command"], "Have gpu-12 run"):
        assert word in part
    browser.run("document.querySelector('.separating .doing button').click()")
    browser.wait("document.querySelector('.separating [role=status]')")
    assert [(f"/api/v1/incidents/{INCIDENT}/checks", {"check": "matmul"})] == collector.done


@pytest.mark.parametrize("more", [{"requestable": False}, {}])
def test_no_button_where_the_collector_may_not_ask_or_has_asked(
    browser: Any, page: Any, more: dict[str, bool]
):
    page(next=NEXT | more, requests=[] if more else [ASKED])
    assert "rankscope check --incident" in text(browser, ".separating")
    assert 0 == browser.run("document.querySelectorAll('.separating .doing button').length")


def test_what_was_asked_for_and_what_came_of_it_is_shown(browser: Any, page: Any):
    failed = ASKED | {"status": "failed", "text": "this agent allows no such check"}
    page(why="no check tells its causes apart", requests=[failed], results=[RESULT])
    part = text(browser, ".separating")
    for word in ("not run", "ann", "this agent allows no such check", "12% below 590", "slow"):
        assert word in part


def test_where_there_is_nothing_to_check_nothing_is_shown(browser: Any, page: Any):
    page(why="no check shows any of its causes")
    text(browser, ".aside")
    assert 0 == browser.run("document.querySelectorAll('.separating').length")
