"""The built-in pages: overview, incidents, jobs, nodes, report, deliveries. No build step.

`page(path)` answers for the paths of the console and for nothing else: its files are listed once,
by name, so no path of a request ever reaches the file system. The pages speak to the collector's
API only; titles and units come from the vocabulary as `words.json`. Charts are drawn by uPlot,
which lies in `vendor/uplot` as its authors publish it, with its licence.

In: a path. Out: the bytes of a file of the console and its content type. Imports: vocabulary.
"""

import gzip
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

from ...vocabulary import faults, metrics

__all__ = ["FILES", "HEADERS", "PackedPage", "packed", "page"]

_ON_DEMAND = ("texts/zh",)
"""Scripts that only some readers need."""

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
"""Every file of the console and its type; `words.json` and `texts/zh_faults.js` are made."""

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
    if name == "texts/zh_faults.js":
        return _chinese_faults(), _TYPES[".js"]
    if name not in FILES:
        return None
    body = resources.files(__package__ or "").joinpath(name).read_bytes()
    return (_with_preloads(body) if name == "index.html" else body), FILES[name]


@dataclass(frozen=True, slots=True)
class PackedPage:
    """A page as it is sent: compressed once, with the tag by which browsers ask again."""

    body: bytes
    media_type: str
    tag: str


@cache
def packed(path: str, until: str = "") -> PackedPage | None:
    """Return the page for a request path, compressed by gzip; None when there is no such page.

    until: when what the pages show was over (RFC 3339), where that is the past.
    """
    found = page(path)
    if found is None:
        return None
    body, media_type = found
    if until:
        body = body.replace(b'<html lang="en">', f'<html lang="en" data-until="{until}">'.encode())
    tag = f'"{hashlib.sha256(body).hexdigest()[:20]}"'
    return PackedPage(gzip.compress(body, 9, mtime=0), media_type, tag)


def _with_preloads(index: bytes) -> bytes:
    """Name every script that the first one needs: else a browser finds one after the other."""
    scripts = [
        name
        for name in FILES
        if name.endswith(".js") and name != "app.js" and not name.startswith(_ON_DEMAND)
    ]
    links = "".join(f'  <link rel="modulepreload" href="console/{name}">\n' for name in scripts)
    return index.replace(b"</head>", links.encode() + b"</head>")


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


def _chinese_faults() -> bytes:
    """Return the script with the Chinese titles and explanations of the faults."""
    rows = [
        f"  {_quoted(f'fault.{fault}.{part}')}: {_quoted(text)},"
        for fault, kind in faults.catalogue().items()
        for part, text in (("title", kind.title_zh), ("help", kind.help_zh))
    ]
    return "\n".join(("export default {", *rows, "};", "")).encode()


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
