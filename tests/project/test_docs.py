"""The documentation: links resolve; verbs, options, keys and code of pages exist and compile."""

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

from rankscope.agent.settings import AgentSettings
from rankscope.alerts.causes.catalogue import catalogue
from rankscope.cli import verbs
from rankscope.collector.settings.collector import CollectorSettings
from rankscope.settings import keys
from rankscope.vocabulary import events, faults, metrics

pytestmark = pytest.mark.documents

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("deploy/**/*.md")]
    if path.is_file()
)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_NO_KEYS = {"probe.attach", "faults.clear", "log.file.path"}
"""A call, a file and an attribute that look like keys of the settings."""
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def links(page: Path) -> Iterator[str]:
    """Yield the targets of a page that are not addresses on the web."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in _LINK.findall(text):
        if not re.match(r"[a-z]+:", target):
            yield target


def anchors(page: Path) -> set[str]:
    """Return the anchors that headings of a page make."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_resolves(page: Path):
    broken = []
    for target in links(page):
        path, _, anchor = target.partition("#")
        file = (page.parent / unquote(path)).resolve() if path else page
        inside = file.is_relative_to(ROOT) and file.exists()
        if not inside or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            broken.append(target)
    assert [] == broken


def test_every_page_of_docs_can_be_reached_from_its_index():
    seen: set[Path] = set()
    waiting = [ROOT / "docs" / "index.md"]
    while waiting:
        page = waiting.pop()
        if page in seen or page.suffix != ".md":
            continue
        seen.add(page)
        waiting += [(page.parent / target.partition("#")[0]).resolve() for target in links(page)]
    assert set() == {page for page in PAGES if page.is_relative_to(ROOT / "docs")} - seen


def test_every_cause_of_the_catalogue_has_its_runbook():
    """An incident points at its runbook; the page must be there at night."""
    causes = catalogue().causes
    assert causes
    for cause in causes:
        assert f"docs/runbooks/{cause.fault}.md" == cause.runbook
        page = ROOT / cause.runbook
        assert page.is_file()
        assert page.read_text(encoding="utf-8").startswith(f"# {cause.fault}: ")


def test_every_verb_that_the_pages_show_exists():
    shown = set()
    for page in PAGES:
        if not page.is_relative_to(ROOT / "docs" / "reference"):
            shown |= set(re.findall(r"(?<!/)\brankscope ([a-z][a-z-]+)\b", _code(page)))
    assert set() == shown - set(verbs.VERBS) - {"import"}


def test_every_option_that_the_pages_show_is_one_of_its_verb():
    wrong = []
    for page in PAGES:
        for name, words in _commands(page):
            parser = argparse.ArgumentParser()
            verbs.load(name).add_arguments(parser)
            options = set(_options(parser))
            used = re.findall(r"(?<=\s)--[a-z][a-z-]*", words)
            wrong += [(page.name, name, one) for one in used if one not in options]
    assert [] == wrong, wrong


def _commands(page: Path) -> Iterator[tuple[str, str]]:
    """Yield each verb that a page shows, with the rest of its command."""
    code = _code(page).replace("\\\n", " ")
    for name, words in re.findall(r"(?<![/\w])rankscope ([a-z-]+)([^|;&#>\n]*)", code):
        if name in verbs.VERBS:
            yield name, words


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the options of a verb, those of its subcommands too."""
    yield from parser._option_string_actions
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from _options(below)


def test_every_key_that_the_pages_name_is_one_of_the_settings():
    models = (AgentSettings, CollectorSettings)
    known = {".".join(key.path[:end]) for one in models for key in keys(one) for end in (1, 2, 3)}
    known |= set(metrics.catalogue()) | set(faults.catalogue()) | set(events.catalogue())
    sections = "|".join({name for model in models for name in model.model_fields})
    form = re.compile(rf"`((?:{sections})\.[a-z_.]*[a-z_])`")
    for page in [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/deploy/*.md")]:
        named = set(form.findall(page.read_text(encoding="utf-8")))
        assert set() == named - known - _NO_KEYS, page.name


def _code(page: Path) -> str:
    text = page.read_text(encoding="utf-8")
    return "\n".join(_FENCE.findall(text) + re.findall(r"`([^`\n]+)`", text))


def test_every_target_that_the_pages_show_is_in_the_makefile():
    targets = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE))
    shown = {
        page: set(re.findall(r"^\s*make ([a-z-]+)", _code(page), re.MULTILINE)) for page in PAGES
    }
    assert {"demo", "test"} <= shown[ROOT / "README.md"]
    assert {} == {page: names - targets for page, names in shown.items() if names - targets}


def test_bare_make_prints_every_target_with_a_line(program):
    done = subprocess.run([program("make")], cwd=ROOT, text=True, capture_output=True, check=True)
    targets = [
        "demo",
        "test",
        "check",
        "lint",
        "types",
        "layers",
        "bench",
        "soak",
        "steady",
        "docs",
        "site",
    ]
    for target in targets:
        assert re.search(rf"^  make {target} +\S", done.stdout, re.MULTILINE)


@pytest.mark.parametrize("page", ["docs/tutorial.md", "README.md"])
def test_python_shown_in_pages_compiles(page: str):
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert blocks or page == "README.md"
    for block in blocks:
        compile(block, page, "exec")


def test_tools_are_called_as_modules():
    """The pages say `python -m tools.screenshot`; it must start."""
    done = subprocess.run(
        [sys.executable, "-m", "tools.screenshot", "--help"],
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=False,
    )
    assert 0 == done.returncode, done.stderr
