"""The pages that incidents point at: one form, and nothing on them that does not exist."""

import re
from pathlib import Path

from tests.examples import told

from rankscope.alerts.causes.catalogue import catalogue
from rankscope.vocabulary import events, faults, findings, metrics

RUNBOOKS = Path(__file__).resolve().parents[3] / "docs" / "runbooks"
PAGES = sorted(RUNBOOKS.glob("*.md"))
SECTIONS = [
    "How we know", "Check first", "What to do now", "What to do later", "What it is confused with",
]  # fmt: skip


def test_a_page_has_its_sections_in_order_and_says_something_in_each():
    for page in PAGES:
        with told(page=page.stem):
            parts = re.split(r"^## (.+)\n", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
            assert SECTIONS == parts[1::2]
            assert all(part.strip() for part in parts)
            assert parts[0].startswith(f"# {page.stem}: ")


def test_names_on_a_page_are_in_the_vocabulary():
    for page in PAGES:
        with told(page=page.stem):
            known = {
                *faults.catalogue(),
                *findings.catalogue(),
                *metrics.catalogue(),
                *events.catalogue(),
            }
            prefixes = {name.partition(".")[0] for name in known}
            text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
            shown = set(re.findall(r"`([a-z]+\.[a-z_.0-9]+)`", text))
            assert (
                set()
                == {name for name in shown if name.partition(".")[0] in prefixes} - known - FILES
            )


FILES = {"memory.events"}
"""What looks like a name of ours and is one of the kernel's."""


def test_a_page_names_all_the_evidence_that_its_cause_predicts():
    for cause in catalogue().causes:
        with told(cause=cause.fault):
            text = (RUNBOOKS / f"{cause.fault}.md").read_text(encoding="utf-8")
            for prediction in cause.predicts:
                assert f"`{prediction.finding}`" in text


def test_a_page_names_the_faults_that_the_checks_separate_it_from():
    """Of those that are checked for, at least one is what it is confused with."""
    for cause in catalogue().causes:
        with told(cause=cause.fault):
            text = (RUNBOOKS / f"{cause.fault}.md").read_text(encoding="utf-8")
            confused = text.partition("## What it is confused with")[2]
            separated = {fault for check in cause.checks for fault in check.separates}
            assert not separated or any(f"`{fault}`" in confused for fault in separated)
