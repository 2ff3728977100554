"""The console over a diagnosis of the past: nothing lives, and the lines that say so are quoted."""

from typing import Any

import pytest
from tests.dashboards.reading import text

from rankscope.vocabulary import times

from .documents import ONSET

pytestmark = pytest.mark.programs

END = times.rfc3339(ONSET + 85)


def quoted(role: str, line: int, words: str) -> dict[str, Any]:
    return {"file": "rank_2.log", "line": line, "at": None, "rank": 2, "signature": f"{role}.kind",
            "role": role, "text": words, "host": "gpu-12"}  # fmt: skip


LEFT = {
    "read": {"rank_2.log": "log, 3 lines of which say something"},
    "unread": {"notes.txt": "no line in it is of a known form"},
    "missing": ["no log of rank 3"],
    "layout": {},
    "lines": [
        quoted("root", 7, "<b>IndexError</b>: index out of range"),
        quoted("cascade", 9, "Connection closed by peer"),
        quoted("cascade", 10, "Connection closed by peer"),
        quoted("background", 1, "mlx5_core: link up"),
    ],
    "others": [],
}


@pytest.fixture
def past(serve: Any, documents: Any) -> Any:
    """Return a collector of what is over, with one incident and what it was found in."""
    collector = serve([documents.incident(leftovers=LEFT)])
    collector.until = END
    collector.role = "read"
    return collector


def test_the_lines_that_say_so_are_quoted_with_their_places(browser: Any, past: Any):
    browser.open(f"{past.address}/#/incidents/5b8e1f0c2a7d4c93")
    root, follows, background = browser.wait(
        "(all => all.length === 3 && all)([...document.querySelectorAll('.quotes li')]"
        ".map(one => one.textContent))"
    )
    assert "root · rank 2 · gpu-12 · rank_2.log:7<b>IndexError</b>: index out of range" == root
    assert "follows" in follows
    assert "and 1 more of this kind" in follows
    assert background.startswith("background")
    shown = text(browser, "main")
    for words in ("Missing: no log of rank 3", "notes.txt", "Not of this job"):
        assert words in shown


def test_what_is_over_is_not_called_live_and_nothing_counts_on(browser: Any, past: Any):
    browser.open(f"{past.address}/#/incidents/5b8e1f0c2a7d4c93")
    text(browser, ".answer")
    shown = text(browser, "main")
    assert text(browser, "#live").startswith("past, until ")
    for words in ("so far", "ago", "detected after", "Similar past incidents"):
        assert words not in shown
    browser.open(f"{past.address}/#/incidents")
    assert "85 s" == text(browser, ".incidents tbody td:nth-child(5)")
    assert not [path for path in past.asked if path == "/api/v1/events"]


def test_pictures_end_where_the_past_does(browser: Any, past: Any):
    browser.open(f"{past.address}/#/incidents/5b8e1f0c2a7d4c93")
    browser.wait("document.querySelector('.panel figure')")
    (asked, *_) = [path for path in past.asked if "/distribution?" in path]
    assert f"to={ONSET + 85:.0f}" in asked


def test_a_job_shows_the_first_part_of_a_step_that_was_logged(browser: Any, past: Any):
    """Logs hold the time of a step and none of its parts: no picture says "other, 100 %"."""
    nothing = {"rows": 0, "columns": 0, "ranks": [], "steps": [], "cells": ""}
    heat = past._figure("heatmap", {"metric": ["training.step.duration"]})[1]
    figure = past._figure

    def only_steps(what: str, query: Any) -> Any:
        if what == "heatmap" and query["metric"] != ["training.step.duration"]:
            return 200, {**heat, **nothing}
        if what == "phases":
            return 200, {"at": [END], "steps": [4], "seconds": {"other": [1.0]}}
        if what == "waits":
            return 200, {"by": "rank", "names": [], "seconds": [], "steps": 0, "awaited": []}
        return figure(what, query)

    past._figure = only_steps
    browser.open(f"{past.address}/#/jobs/llm-7b")
    assert text(browser, ".heatmap figcaption").startswith("Step time of 4 ranks")
    for part in ("phases", "waits"):
        assert not browser.run(f"document.querySelector('.part-{part}').textContent")
