"""What `page` answers: the files of the console, and nothing else."""

import json
import re
from importlib import resources
from pathlib import Path

import pytest

from rankscope.dashboards import console
from rankscope.vocabulary import faults, metrics

UPLOT = "vendor/uplot/"


def text(name: str) -> str:
    found = console.page(name)
    assert found is not None
    return found[0].decode()


def test_the_root_is_the_console_itself():
    found = console.page("/")
    assert found is not None
    body, kind = found
    assert "text/html; charset=utf-8" == kind
    assert b"<title>Rankscope</title>" in body


def test_every_listed_file_is_there_and_every_file_is_listed():
    folder = Path(str(resources.files(console)))
    there = {
        str(one.relative_to(folder))
        for one in folder.rglob("*")
        if one.is_file() and one.suffix not in (".py", ".pyc")
    }
    assert there == set(console.FILES)
    for name in console.FILES:
        assert console.page(f"/console/{name}") is not None


@pytest.mark.parametrize(
    "path",
    [
        "/console/../__init__.py",
        "/console/__init__.py",
        "/console/%2e%2e/index.html",
        "/etc/passwd",
        "/console/console/index.html/",
        "/console/\x00",
        "..",
        "/console/app.js/..",
    ],
)
def test_no_other_path_is_answered(path: str):
    assert console.page(path) is None


def test_pages_fetch_nothing_from_elsewhere():
    """The console must work in a cluster without a way out."""
    for name in console.FILES:
        if name.startswith(UPLOT):
            continue  # its comments name sources; it fetches nothing, see the next test
        addresses = set(re.findall(r"https?://[^\"'\s)]+", text(name)))
        assert addresses <= {"http://www.w3.org/2000/svg"}


def test_the_charting_library_is_shipped_whole_with_its_licence():
    """Published by its authors under MIT: the notice goes along; and it never asks a server."""
    assert {f"{UPLOT}uPlot.esm.js", f"{UPLOT}uPlot.min.css", f"{UPLOT}LICENSE"} == {
        name for name in console.FILES if name.startswith(UPLOT)
    }
    assert "Leon Sorokin" in text(f"{UPLOT}LICENSE")
    library = text(f"{UPLOT}uPlot.esm.js")
    for door in ("fetch(", "XMLHttpRequest", "WebSocket", "import(", "eval("):
        assert door not in library


def test_no_script_ever_parses_html():
    """Texts of incidents come from tenants' logs; only text nodes may show them."""
    for name in console.FILES:
        if name.endswith(".js") and not name.startswith(UPLOT):
            for door in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
                assert door not in text(name)


def test_words_carry_every_fault_and_metric():
    words = json.loads(text("/console/words.json"))
    assert set(faults.catalogue()) == set(words["faults"])
    assert set(metrics.catalogue()) == set(words["metrics"])
    assert "CPU contention" == words["faults"]["host.cpu_contention"]["title"]
    assert words["metrics"]["training.compute.duration"]["ranked"] is True
    assert words["metrics"]["system.cpu.utilization"]["ranked"] is False


def test_the_policy_lets_only_our_own_files_run():
    policy = console.HEADERS["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
