"""The documentation: links resolve; verbs, targets and code that pages show exist and compile."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

from rankscope.alerts.causes.catalogue import catalogue
from rankscope.cli import verbs

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("deploy/**/*.md")]
    if path.is_file()
)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
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


def _code(page: Path) -> str:
    text = page.read_text(encoding="utf-8")
    return "\n".join(_FENCE.findall(text) + re.findall(r"`([^`\n]+)`", text))


def test_every_target_that_the_pages_show_is_in_the_makefile():
    targets = set(re.findall(r"^([a-z]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE))
    shown = {
        page: set(re.findall(r"^\s*make ([a-z]+)", _code(page), re.MULTILINE)) for page in PAGES
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
