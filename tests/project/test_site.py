"""The documentation as a site: mkdocs builds it without a warning, links and anchors included."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tools import site

pytestmark = pytest.mark.documents

ROOT = Path(__file__).parents[2]


def build(config: Path, out: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            *(sys.executable, "-m", "mkdocs", "build", "--strict"),
            *("--config-file", config, "--site-dir", out),
        ],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        text=True,
        capture_output=True,
        check=False,
    )


def test_every_page_is_built_and_every_link_resolves(tmp_path: Path):
    """And no page asks for fonts or scripts of others, who would see who reads what."""
    done = build(ROOT / "mkdocs.yml", tmp_path)
    assert 0 == done.returncode, done.stderr
    for page in (ROOT / "docs").rglob("*.md"):
        path = page.relative_to(ROOT / "docs").with_suffix("")
        name = "index.html" if path.name == "index" else f"{path}/index.html"
        assert (tmp_path / name).is_file(), name

    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    sources = [part.split('"')[0] for part in text.split(' src="')[1:]]
    sources += [part.split('"')[0] for part in text.split('rel="stylesheet" href="')[1:]]
    assert [] == [source for source in sources if source.startswith(("http", "//"))]


def test_every_page_of_the_reference_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [f"reference/{page.name}" for page in (ROOT / "docs/reference").glob("*.md")]
    assert [] == [page for page in pages if page not in navigation]


@pytest.mark.parametrize("link", ["nowhere.md", "index.md#nowhere", "images/nowhere.png"])
def test_a_link_to_nothing_fails_the_build(link: str, tmp_path: Path):
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "index.md").write_text(f"# Page\n\n![here]({link})\n[here]({link})\n")
    config = tmp_path / "mkdocs.yml"
    config.write_text(
        f"INHERIT: {ROOT / 'mkdocs.yml'}\ndocs_dir: {docs}\nhooks: []\nnav: [index.md]\n"
    )
    done = build(config, tmp_path / "site")
    assert 1 == done.returncode
    assert link.partition("#")[0] in done.stderr


class File:
    src_uri = "deploy/compose.md"


class Page:
    file = File()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[here](../operations.md#sizing)", "[here](../operations.md#sizing)"),
        ("[unit](../../deploy/systemd/x.service)", "unit (`deploy/systemd/x.service`)"),
        ("[`deploy/Dockerfile`](../../deploy/Dockerfile)", "`deploy/Dockerfile`"),
        ("```\n[a](../../x)\n```", "```\n[a](../../x)\n```"),
    ],
)
def test_links_out_of_the_folder_become_paths(text: str, shown: str):
    assert shown == site.on_page_markdown(text, page=Page(), config={})


def test_with_the_address_of_a_repository_they_lead_there():
    config = {"repo_url": "https://git.example/rankscope/"}
    assert "[unit](https://git.example/rankscope/blob/main/deploy/x)" == site.on_page_markdown(
        "[unit](../../deploy/x)", page=Page(), config=config
    )
