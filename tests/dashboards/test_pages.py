"""What `page` answers: the files of the console, and nothing else."""

import json
import re
from importlib import resources

import pytest

from rankscope.dashboards import console
from rankscope.vocabulary import faults, metrics


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
    folder = resources.files(console)
    there = {one.name for one in folder.iterdir() if not one.name.endswith((".py", "__"))}
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
        addresses = set(re.findall(r"https?://[^\"'\s)]+", text(name)))
        assert addresses <= {"http://www.w3.org/2000/svg"}


def test_no_script_ever_parses_html():
    """Texts of incidents come from tenants' logs; only text nodes may show them."""
    for name in console.FILES:
        if name.endswith(".js"):
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
