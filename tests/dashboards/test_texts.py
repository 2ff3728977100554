"""Texts: each language has all of them, no page has one of its own, and a switch is remembered."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from rankscope.dashboards import console
from rankscope.vocabulary import faults

LANGUAGES = ("zh",)
LITERAL = re.compile(r"\"((?:[^\"\\\n]|\\.)*)\"|`((?:[^`\\]|\\.)*)`")
WORDS = re.compile(r"^[A-Z][a-z]+( |$)|[a-z]+ [a-z]+ [a-z]+")
"""What a sentence or a label looks like: a capital and a word, or three words in a row."""

ALLOWED = {"Enter", "Hz", "By", "Cel", "Rankscope", "Bearer "}
"""Names: a key, units, the system, a scheme of HTTP."""


def texts(name: str) -> dict[str, str]:
    """Return the texts of a language file, which are JSON but for the keys' quotes."""
    found = console.page(f"texts/{name}.js")
    assert found is not None
    pairs = re.findall(r"(?:\"([\w.]+)\"|\b(\w+)): (\"(?:[^\"\\]|\\.)*\")", found[0].decode())
    return {quoted or bare: json.loads(value) for quoted, bare, value in pairs}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_the_same_texts_with_the_same_slots(language: str):
    english, other = texts("en"), texts(language)
    assert len(english) > 300
    assert set(english) == set(other)
    for key, text in english.items():
        assert sorted(re.findall(r"{\w+}", text)) == sorted(re.findall(r"{\w+}", other[key])), key


def test_every_fault_has_a_chinese_title_and_explanation():
    found = console.page("texts/zh_faults.js")
    assert found is not None
    rows = re.findall(r"^  \"fault\.([\w.]+)\": \"[^\"]+\",$", found[0].decode(), re.MULTILINE)
    wanted = [f"{fault}.{part}" for fault in faults.catalogue() for part in ("title", "help")]
    assert wanted == rows


def _literals(source: str) -> Iterator[str]:
    """Yield what a script's texts say, without what is put into them."""
    code = re.sub(r"/\*.*?\*/|(?<!:)//[^\n]*", "", source, flags=re.DOTALL)
    for quoted, template in LITERAL.findall(code):
        yield quoted or re.sub(r"\$\{.*?\}", "", template)


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in console.FILES
        if name.endswith(".js") and not name.startswith(("texts/", "vendor/"))
    ],
)
def test_no_page_has_a_text_of_its_own(name: str):
    found = console.page(name)
    assert found is not None
    own = [
        text for text in _literals(found[0].decode()) if WORDS.search(text) and text not in ALLOWED
    ]
    assert [] == own


def test_every_key_that_a_page_asks_for_exists():
    english = texts("en")
    for name in console.FILES:
        found = console.page(name)
        if name.endswith(".js") and not name.startswith(("texts/", "vendor/")) and found:
            for key in re.findall(r"\bt\(\"([\w.]+)\"", found[0].decode()):
                assert key in english, f"{name}: {key}"
    page = console.page("/")
    assert page is not None
    for key in re.findall(r"data-(?:label-)?text=\"([\w.]+)\"", page[0].decode()):
        assert key in english


@pytest.mark.programs
def test_the_language_is_switched_at_once_and_remembered(browser: Any, serve: Any, documents: Any):
    collector = serve([documents.incident()])
    browser.open(f"{collector.address}/#/incidents/5b8e1f0c2a7d4c93")
    browser.wait("document.querySelector('.answer h1')?.innerText === 'CPU contention'")
    browser.run(
        "(select => { select.value = 'zh'; select.dispatchEvent(new Event('change')) })"
        "(document.getElementById('language'))"
    )
    browser.wait("document.querySelector('.answer h1')?.innerText === 'CPU 争用'")
    assert "zh-Hans" == browser.run("document.documentElement.lang")
    assert "事件" == browser.run("document.querySelector('nav [aria-current]').innerText")
    browser.run("window.before = true; location.reload()")
    browser.wait("!window.before && document.querySelector('.answer h1')?.innerText === 'CPU 争用'")
    browser.run("localStorage.removeItem('rankscope.language')")
