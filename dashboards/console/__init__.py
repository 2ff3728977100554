"""The built-in pages: incidents, one incident, jobs, the report. No dependency, no build step.

`page(path)` answers for the paths of the console and for nothing else: the files are listed by
name, so no path of a request ever reaches the file system. The pages speak to the collector's API
only; titles and units come from the vocabulary as `words.json`.
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources

from ...vocabulary import faults, metrics

__all__ = ["FILES", "HEADERS", "page"]

FILES: Mapping[str, str] = {
    "index.html": "text/html; charset=utf-8",
    "console.css": "text/css; charset=utf-8",
    "mark.svg": "image/svg+xml",
    "answer.js": "text/javascript; charset=utf-8",
    "app.js": "text/javascript; charset=utf-8",
    "api.js": "text/javascript; charset=utf-8",
    "dom.js": "text/javascript; charset=utf-8",
    "evidence.js": "text/javascript; charset=utf-8",
    "history.js": "text/javascript; charset=utf-8",
    "incident.js": "text/javascript; charset=utf-8",
    "incidents.js": "text/javascript; charset=utf-8",
    "jobs.js": "text/javascript; charset=utf-8",
    "panel.js": "text/javascript; charset=utf-8",
    "plot.js": "text/javascript; charset=utf-8",
    "report.js": "text/javascript; charset=utf-8",
    "series.js": "text/javascript; charset=utf-8",
    "units.js": "text/javascript; charset=utf-8",
}
"""Every file of the console and its content type; `words.json` is made, not read."""

HEADERS: Mapping[str, str] = {
    # Log lines and job names are other people's text. The pages only ever set text, and should
    # one line slip through, the browser still runs nothing that is not a file of this list.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
"""What the collector sends along with every page."""


@cache
def page(path: str) -> tuple[bytes, str] | None:
    """Return the body and content type for a request path, None when the console has no such page.

    `/` is the console itself; its files lie under `/console/`. The leading slash is optional.
    """
    name = path.removeprefix("/").removeprefix("console/") or "index.html"
    if name == "words.json":
        return _words(), "application/json"
    if name not in FILES:
        return None
    return resources.files(__package__ or "").joinpath(name).read_bytes(), FILES[name]


def _words() -> bytes:
    words = {
        "faults": {
            fault: {"title": kind.title, "help": kind.help}
            for fault, kind in faults.catalogue().items()
        },
        "metrics": {
            name: {
                "unit": metric.unit,
                "kind": metric.kind,
                "help": metric.help,
                "ranked": "rank" in metric.attributes + metric.optional,
            }
            for name, metric in metrics.catalogue().items()
        },
    }
    return json.dumps(words, separators=(",", ":")).encode()
