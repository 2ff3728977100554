"""How soon a page of the console shows something: python -m tools.paint.

A collector's application with a large job behind it runs in this process, a headless Chromium loads
each page cold. Printed as JSON, a page: milliseconds to the first paint, to the first data and to
the last part (`drawn_ms`), requests and bytes, seconds of CPU of the browser's main thread and of
this process. Wall times are worth something on a quiet machine only; `load_average` says how quiet.
"""

import argparse
import importlib.util
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from .chromium import Chromium

_LARGE_JOB = Path(__file__).parents[1] / "tests" / "dashboards" / "large_job.py"
PAGES = {
    "overview": ("", ".jobs tbody tr", ".jobs tbody tr"),
    "job": ("jobs/large", ".page.job h1", ".part-resources .frame[data-drawn]"),
    "nodes": ("nodes", ".nodes tbody tr", ".nodes tbody tr"),
    "node": ("nodes/gpu-000", ".page.node h1", ".page.node .part-readings details"),
}
"""By name: the address behind #/, what counts as first data, and as the last part."""

_PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
_LOADED = """(all => [all.length, all.reduce((sum, one) => sum + one.encodedBodySize, 0)])
(performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation')))"""
_WATCH = """(() => { window.seen = {}; const look = () => { for (const [name, selector] of %s)
  if (!(name in seen) && document.querySelector(selector)) seen[name] = performance.now(); };
  new MutationObserver(look).observe(document, {subtree: true, childList: true, attributes: true});
  look(); })()"""


def main() -> int:
    """Measure every page and print one JSON object."""
    parser = argparse.ArgumentParser(prog="python -m tools.paint", description=__doc__)
    parser.add_argument("--ranks", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3, help="of each page; the fastest counts")
    parser.add_argument("--only", choices=sorted(PAGES), action="append")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rs-") as folder:
        large = _module(_LARGE_JOB).LargeJob(Path(folder), ranks=wanted.ranks, steps=wanted.steps)
        with large:
            found: dict[str, Any] = {"load_average": os.getloadavg()[0], "cores": os.cpu_count()}
            for name in wanted.only or PAGES:
                rounds = [_measured(large.address, *PAGES[name]) for _ in range(wanted.rounds)]
                found[name] = {key: min(one[key] for one in rounds) for key in rounds[0]}
            found["every_cell"] = _every_cell(large.address)
    print(json.dumps(found, indent=2))
    return 0


def _measured(address: str, page: str, data: str, last: str) -> dict[str, float]:
    with Chromium() as browser:  # a new one each time: nothing is cached
        browser.before_every_page(_WATCH % json.dumps([["data", data], ["drawn", last]]))
        browser.metrics()  # counts from here on
        before = time.process_time()
        browser.open(f"{address}/#/{page}")
        browser.wait("window.seen?.drawn")
        browser.wait(_PAINT)
        server = time.process_time() - before
        requests, size = browser.run(_LOADED)
        seen = browser.run("window.seen")
        return {
            "first_paint_ms": round(browser.run(_PAINT)),
            "data_ms": round(seen["data"]),
            "drawn_ms": round(seen["drawn"]),
            "requests": requests,
            "bytes": size,
            "browser_cpu_s": round(browser.metrics()["TaskDuration"], 3),
            "server_cpu_s": round(server, 3),
        }


def _every_cell(address: str) -> dict[str, float]:
    """Return what it costs to draw every rank and step, and to move the pointer over it."""
    moves = 200
    with Chromium() as browser:
        browser.open(f"{address}/#/jobs/large")
        browser.wait("document.querySelector('[data-key=every]')")
        coarse = browser.wait("document.querySelector('.heatmap [data-drawn]')?.dataset.drawn")
        before = browser.metrics()["TaskDuration"]
        browser.run("document.querySelector('[data-key=every]').click()")
        drawn = browser.wait(
            f"(found => found && found !== {json.dumps(coarse)} && found)"
            "(document.querySelector('.heatmap [data-drawn]')?.dataset.drawn)"
        )
        between = browser.metrics()["TaskDuration"]
        browser.run(
            "(stage => { const box = stage.getBoundingClientRect();"
            f" for (let n = 0; n < {moves}; n += 1) stage.dispatchEvent(new PointerEvent("
            f"'pointermove', {{bubbles: true, clientX: box.left + box.width * n / {moves},"
            f" clientY: box.top + box.height * n / {moves}}})); }})"
            "(document.querySelector('.heatmap [data-drawn]'))"
        )
        after = browser.metrics()["TaskDuration"]
    return {
        "cells": drawn,
        "draw_cpu_s": round(between - before, 3),
        "move_cpu_ms": round(1000 * (after - between) / moves, 3),
    }


def _module(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    sys.exit(main())
