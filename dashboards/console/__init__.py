"""The built-in pages: overview, incidents, jobs, nodes, report, deliveries. No build step.

`page(path)` answers for the paths of the console and for nothing else: its files are listed once,
by name, so no path of a request ever reaches the file system. The pages speak to the collector's
API only; titles and units come from the vocabulary as `words.json`. Charts are drawn by uPlot,
which lies in `vendor/uplot` as its authors publish it, with its licence.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

from ...vocabulary import faults, metrics

__all__ = ["FILES", "HEADERS", "page"]

_TYPES: Mapping[str, str] = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".js": "text/javascript; charset=utf-8",
    "LICENSE": "text/plain; charset=utf-8",
}


def _files(folder: Traversable, before: str = "") -> Iterator[tuple[str, str]]:
    for one in folder.iterdir():
        if one.is_dir():
            yield from _files(one, f"{before}{one.name}/")
        kind = next((kind for end, kind in _TYPES.items() if one.name.endswith(end)), None)
        if kind is not None:
            yield f"{before}{one.name}", kind


FILES: Mapping[str, str] = dict(sorted(_files(resources.files(__package__ or ""))))
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
