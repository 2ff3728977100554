"""Write the generated pages anew, or with --check say which are behind and exit 1."""

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from . import (
    commands,
    detectors,
    endpoints,
    folders,
    keys,
    pages,
    readers,
    remedies,
    signatures,
    words,
)

DOCS = Path(__file__).parents[2] / "docs"
FOLDER = DOCS / "reference"

PAGES: Mapping[str, Callable[[], str]] = {
    "metrics.md": words.metrics_page,
    "prometheus.md": pages.page,
    "events.md": words.events_page,
    "log-signatures.md": signatures.page,
    "faults.md": words.faults_page,
    "findings.md": words.findings_page,
    "remedies.md": remedies.page,
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
    """Return the text of every page by its name below docs."""
    made = {name: write() for name, write in PAGES.items()}
    reference = {**made, **readers.pages(), **detectors.pages()}
    return {
        "architecture.md": folders.page(),
        **{f"reference/{name}": text for name, text in reference.items()},
    }


def main() -> int:
    """Return 0 when the pages are written, or are as they should be."""
    parser = argparse.ArgumentParser(prog="python -m tools.reference", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 on drift")
    check = parser.parse_args().check
    behind = 0
    pages = every_page()
    for name, text in pages.items():
        path = DOCS / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        behind += 1
        if check:
            print(f"docs/{name} is behind the code: run `make docs`", file=sys.stderr)
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"wrote docs/{name}")
    for path in sorted(path for folder in FOLDERS for path in (FOLDER / folder).glob("*.md")):
        if path.relative_to(DOCS).as_posix() in pages:
            continue
        behind += 1
        if check:
            print(f"{path.name} is of something that is gone: run `make docs`", file=sys.stderr)
        else:
            path.unlink()
    return 1 if check and behind else 0


if __name__ == "__main__":
    sys.exit(main())
