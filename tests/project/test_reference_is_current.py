"""docs/reference is what `make docs` generates from the code."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from tools.reference import __main__ as reference

from rankscope.vocabulary import incident_schema
from rankscope.vocabulary.incidents import Incident

pytestmark = pytest.mark.documents

ROOT = Path(__file__).parents[2]


def test_the_reference_is_current():
    done = subprocess.run(
        [sys.executable, "-m", "tools.reference", "--check"],
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert (0, "") == (done.returncode, done.stderr)


def test_a_field_that_the_published_schema_lacks_is_seen(monkeypatch, capsys):
    @dataclass(frozen=True, slots=True, kw_only=True)
    class ColouredIncident(Incident):
        colour: str

    monkeypatch.setattr(incident_schema, "Incident", ColouredIncident)
    name = "incident.schema.json"
    page = reference.PAGES[name]
    monkeypatch.setattr(reference, "every_page", lambda: {f"reference/{name}": page()})
    monkeypatch.setattr(reference, "FOLDERS", ())
    monkeypatch.setattr(sys, "argv", ["tools.reference", "--check"])
    assert 1 == reference.main()
    assert f"docs/reference/{name} is behind the code" in capsys.readouterr().err
