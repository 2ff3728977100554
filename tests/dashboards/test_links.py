"""Every link of the console leads somewhere: its pages, its files and what it names of the API."""

import gzip
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rankscope.dashboards import console

from .large_job import LargeJob

pytestmark = pytest.mark.programs

HREFS = """[...document.querySelectorAll('a[href], link[href], script[src], img[src]')]
  .map(one => one.getAttribute('href') ?? one.getAttribute('src'))"""
SHOWN = "document.querySelector('main h1') && !document.querySelector('main .loading')"
"""A page is there, and has what it asked for."""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return a real collector's application with a small job behind it."""
    with LargeJob(tmp_path_factory.mktemp("small"), ranks=16, steps=40) as running:
        yield running


def answer(address: str, **headers: str) -> tuple[int, bytes, dict[str, str]]:
    request = urllib.request.Request(address, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as found:
            return found.status, found.read(), {k.lower(): v for k, v in found.headers.items()}
    except urllib.error.HTTPError as error:
        with error:
            return error.code, b"", dict(error.headers.items())


def test_every_link_of_every_page_leads_somewhere(browser: Any, small: Any):
    """Begun at the overview, and followed until nothing new is named."""
    waiting, visited, files = ["#/", "#/api"], set[str](), set[str]()
    while waiting:
        page = waiting.pop()
        if page in visited:
            continue
        visited.add(page)
        browser.open("about:blank")
        browser.open(f"{small.address}/{page}")
        browser.wait(SHOWN)
        assert not browser.run("document.querySelector('.problem')?.innerText"), page
        assert "There is no such page" not in browser.run(
            "document.querySelector('main').innerText"
        )
        for href in browser.run(HREFS):
            if href.startswith("#/"):
                waiting.append(href)
            elif not href.startswith("#"):
                files.add(href)
    assert {"#/jobs/large", "#/nodes/gpu-001", "#/report", "#/deliveries"} <= visited
    assert files
    for href in sorted(files):
        status, _, _ = answer(f"{small.address}/{href.removeprefix('/')}")
        assert status == 200, href


@pytest.mark.parametrize("path", ["docs", "openapi.json", "healthz", "readyz", "metrics"])
def test_what_is_at_the_root_answers(small: Any, path: str):
    assert answer(f"{small.address}/{path}")[0] == 200


def test_a_browser_that_has_a_file_is_sent_nothing(small: Any):
    address = f"{small.address}/console/app.js"
    status, packed, headers = answer(address, **{"Accept-Encoding": "gzip"})
    assert (200, "gzip") == (status, headers["content-encoding"])
    plain = answer(address)
    assert plain[1] == gzip.decompress(packed)
    assert headers["etag"] == plain[2]["etag"]
    status, body, _ = answer(address, **{"If-None-Match": headers["etag"]})
    assert (304, b"") == (status, body)


def test_no_script_is_found_only_by_reading_another():
    """Each round of requests would cost the first paint a round trip."""
    index = console.page("/")
    assert index is not None
    named = set(re.findall(r'(?:href|src)="console/([^"]+\.js)"', index[0].decode()))
    wanted, found = ["app.js"], set[str]()
    while wanted:
        name = wanted.pop()
        if name in found:
            continue
        found.add(name)
        script = console.page(name)
        assert script is not None
        wanted += [
            str((Path("/") / Path(name).parent / target).resolve())[1:]
            for target in re.findall(r'^import [^"]*"(\.[^"]+)"', script[0].decode(), re.MULTILINE)
        ]
    assert found == named
