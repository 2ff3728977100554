"""The worked example of a cause, followed step by step as CONTRIBUTING describes it."""

import re
import tomllib
from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest
from tests.alerts.explaining import EVERYTHING

from rankscope.alerts.causes import catalogue as causes
from rankscope.alerts.causes import engine
from rankscope.alerts.causes.catalogue import catalogue, cause_of, parse
from rankscope.vocabulary import faults, tables
from rankscope.vocabulary import findings as kinds

EXAMPLES = Path(__file__).resolve().parents[3] / "docs" / "examples"
ROW = (EXAMPLES / "cause_example.toml").read_text(encoding="utf-8")
PAGE = (EXAMPLES / "cause_example.md").read_text(encoding="utf-8")
HEAD = resources.files("rankscope.alerts.causes").joinpath("catalogue.toml").read_text("utf-8")
FAULT = tomllib.loads(ROW)["fault"][0]["id"]


@pytest.fixture
def without():
    """Return the shipped catalogue without the fault of the example."""
    others = tuple(cause for cause in catalogue().causes if cause.fault != FAULT)
    return replace(catalogue(), causes=others)


@pytest.fixture
def knowledge(without):
    """Return it with the row of the example added at its end."""
    (added,) = parse(HEAD, ROW).causes
    return replace(without, causes=(*without.causes, added))


@pytest.fixture
def added(monkeypatch):
    """Add the example under a new id to the file of its family; return that id."""
    fault, shipped = "gpu.example_hang", tables.text

    def text(package, name):
        more = ROW.replace(FAULT, fault) if name == "gpu.toml" else ""
        return f"{shipped(package, name)}\n{more}"

    caches = (faults.catalogue, catalogue, causes._by_fault, tables._shared)
    with monkeypatch.context() as patch:
        patch.setattr(tables, "text", text)
        for one in caches:
            one.cache_clear()
        yield fault
    for one in caches:
        one.cache_clear()


def test_its_row_alone_makes_a_fault_known_to_the_vocabulary_and_the_engine(added):
    """The first of the two edits; the runbook is the second."""
    assert "GPU firmware hang" == faults.catalogue()[added].title
    cause = cause_of(added)
    assert cause in catalogue().causes
    assert f"docs/runbooks/{added}.md" == cause.runbook


def test_the_fault_and_all_that_it_predicts_are_in_the_vocabulary(knowledge):
    cause = knowledge.causes[-1]
    assert cause.fault in faults.catalogue()
    for prediction in (*cause.predicts, *cause.contradicts):
        assert prediction.finding in kinds.catalogue()


def test_with_its_row_the_fault_is_the_first_cause(without, knowledge, topology, found):
    findings = [
        found("job.stalled", topology.job_entity),
        found("gpu.fault_event", topology.gpu_entity(2)),
        found("rank.behind_completed", topology.rank_entity(2)),
    ]
    others = engine.explain(findings, topology, observed=EVERYTHING, knowledge=without)
    first = engine.explain(findings, topology, observed=EVERYTHING, knowledge=knowledge).hypotheses[
        0
    ]
    assert FAULT not in {row.fault for row in others.hypotheses}
    assert (FAULT, "GPU-2") == (first.fault, first.entity.id)
    assert "ssh host-b nvidia-smi --gpu-reset -i GPU-2" == first.actions[0].command


def test_without_what_is_essential_it_is_never_named(knowledge, topology, found, proven):
    findings = [
        found("job.stalled", topology.job_entity),
        found("rank.behind_completed", topology.rank_entity(2)),
    ]
    cause = engine.explain(findings, topology, observed=EVERYTHING, knowledge=knowledge)
    assert FAULT not in proven(cause)


def test_the_page_has_the_sections_of_a_runbook_and_names_the_evidence(knowledge):
    shipped = (EXAMPLES.parent / "runbooks" / "host.lost.md").read_text(encoding="utf-8")
    assert re.findall(r"^## .+$", shipped, re.MULTILINE) == re.findall(
        r"^## .+$", PAGE, re.MULTILINE
    )
    assert PAGE.startswith(f"# {FAULT}: ")
    for prediction in knowledge.causes[-1].predicts:
        assert f"`{prediction.finding}`" in PAGE
