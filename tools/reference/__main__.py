"""Write docs/reference anew, or with --check say which pages are behind and exit 1."""

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from . import commands, detectors, endpoints, keys, pages, readers, signatures, words

FOLDER = Path(__file__).parents[2] / "docs" / "reference"

PAGES: Mapping[str, Callable[[], str]] = {
    "metrics.md": words.metrics_page,
    "prometheus.md": pages.page,
    "events.md": words.events_page,
    "log-signatures.md": signatures.page,
    "faults.md": words.faults_page,
    "findings.md": words.findings_page,
    "incident.schema.json": words.incident_schema_text,
    "cli.md": commands.page,
    "settings.md": keys.page,
    "api.md": endpoints.page,
    "readers.md": readers.index,
    "profiles.md": readers.profiles,
    "detectors.md": detectors.index,
}

FOLDERS = ("readers", "detectors")
"""Below docs/reference: a page each of what there is."""


def every_page() -> dict[str, str]:
    """Return the text of every page by its name below docs/reference."""
    made = {name: write() for name, write in PAGES.items()}
    return {**made, **readers.pages(), **detectors.pages()}


def main() -> int:
    """Return 0 when the pages are written, or are as they should be."""
    parser = argparse.ArgumentParser(prog="python -m tools.reference", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 on drift")
    check = parser.parse_args().check
    behind = 0
    pages = every_page()
    for name, text in pages.items():
        path = FOLDER / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        behind += 1
        if check:
            print(f"docs/reference/{name} is behind the code: run `make docs`", file=sys.stderr)
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"wrote docs/reference/{name}")
    for path in sorted(path for folder in FOLDERS for path in (FOLDER / folder).glob("*.md")):
        if f"{path.parent.name}/{path.name}" in pages:
            continue
        behind += 1
        if check:
            print(f"{path.name} is of something that is gone: run `make docs`", file=sys.stderr)
        else:
            path.unlink()
    return 1 if check and behind else 0


if __name__ == "__main__":
    sys.exit(main())
