"""Draw dashboards from a Prometheus: python -m tools.preview URL FOLDER [--minutes 10]."""

import argparse
import sys
import time
from pathlib import Path

from bench.live import asking
from bench.live.prometheus import PrometheusQueries
from rankscope.dashboards.grafana import building
from rankscope.dashboards.grafana.frame import BuildOptions

from ..chromium import Chromium
from .page import page

POINTS = 240


def main() -> int:
    """Write an HTML page and a picture of each dashboard."""
    parser = argparse.ArgumentParser(prog="python -m tools.preview", description=__doc__)
    parser.add_argument("url", help="the Prometheus")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--minutes", type=float, default=10.0, help="the time range, up to now")
    parser.add_argument("--scrape", type=float, default=1.0, help="seconds from scrape to scrape")
    parser.add_argument("--set", action="append", default=[], metavar="VARIABLE=VALUE")
    parser.add_argument("--only", help="uid of one dashboard")
    wanted = parser.parse_args()
    now = time.time()
    step = max(wanted.scrape, 60 * wanted.minutes / POINTS)
    span = asking.QueryRange(now - 60 * wanted.minutes, now, step=step, scrape=wanted.scrape)
    chosen = dict(one.split("=", 1) for one in wanted.set)
    wanted.folder.mkdir(parents=True, exist_ok=True)
    with Chromium(width=1456, height=1000) as browser:
        for uid, document in building.documents(BuildOptions()).items():
            if wanted.only not in (None, uid):
                continue
            path = (wanted.folder / f"{uid}.html").resolve()
            path.write_text(
                page(document, PrometheusQueries(wanted.url), span, chosen), encoding="utf-8"
            )
            browser.size(1456, 200)  # else the page is as tall as the one before
            browser.open(path.as_uri())
            browser.wait("document.querySelector('.grid')")
            browser.size(1456, int(browser.run("document.documentElement.scrollHeight")))
            browser.run("new Promise(done => requestAnimationFrame(() => setTimeout(done, 200)))")
            path.with_suffix(".png").write_bytes(browser.picture(whole=True))
            print(path.with_suffix(".png"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
