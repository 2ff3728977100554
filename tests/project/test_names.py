"""Names: a class is found by a search for its name, and the name says what the thing is."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

pytestmark = pytest.mark.documents

ROOT = Path(__file__).parents[2]
PACKAGES = sorted(path.name for path in (ROOT / "src" / "rankscope").iterdir())

ONE_WORD = {
    # What the whole product speaks of; each is defined once, in the vocabulary or as a contract.
    "Clock", "Detector", "Entity", "Event", "Evidence", "Finding", "Hypothesis", "Impact",
    "Incident", "Payload", "Sample", "Symptom", "Watch",
}  # fmt: skip


def classes_in(folder: Path) -> dict[str, list[str]]:
    """Return where each class of a module's top level is defined, by name."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(folder.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                found[node.name].append(str(path.relative_to(folder)))
    return found


def repeated(classes: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the names that stand for more than one class."""
    return {name: places for name, places in classes.items() if len(places) > 1}


def of_one_word(classes: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the names of a single word that are not among those of the whole product."""
    return {
        name: places
        for name, places in classes.items()
        if name not in ONE_WORD and len(re.findall("[A-Z]+(?![a-z])|[A-Z][a-z0-9]*", name)) < 2
    }


@pytest.fixture(scope="module")
def classes():
    """Return every class of the packages."""
    found: dict[str, list[str]] = defaultdict(list)
    for package in PACKAGES:
        for name, places in classes_in(ROOT / package).items():
            found[name] += [f"{package}/{place}" for place in places]
    return found


def test_one_class_name_stands_for_one_class(classes):
    assert {} == repeated(classes)


def test_a_class_name_is_a_noun_with_the_noun_that_says_of_what(classes):
    assert {} == of_one_word(classes)


def test_a_name_given_twice_and_a_bare_participle_are_found(tmp_path):
    (tmp_path / "a.py").write_text("class PageQuery: ...\nclass Held: ...\n")
    (tmp_path / "b.py").write_text("class PageQuery: ...\nclass Sample: ...\n")

    planted = classes_in(tmp_path)

    assert {"PageQuery": ["a.py", "b.py"]} == repeated(planted)
    assert {"Held": ["a.py"]} == of_one_word(planted)
