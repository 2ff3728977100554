"""The incident document: numbers fit for JSON, and the schema that outsiders rely on."""

import json
import math
from dataclasses import replace

import jsonschema
import pytest

from rankscope.vocabulary import entities, incident_schema
from rankscope.vocabulary.ids import Fault, IncidentId
from rankscope.vocabulary.incidents import (
    DataQuality,
    Evidence,
    Hypothesis,
    Impact,
    Incident,
    NextCheck,
    RecommendedAction,
    RootCause,
    Symptom,
    TimelineMoment,
    UnknownScore,
)

AT = 1_700_000_000.0


@pytest.fixture
def incident() -> Incident:
    rank = entities.rank(3, "gpu-12")
    evidence = Evidence(
        "supports",
        "nan_origin",
        rank,
        "training.loss",
        (AT, AT + 1),
        math.nan,
        "finite",
        3.0,
        "bad",
    )
    cause = Hypothesis(
        1, Fault("numerics.nan_rank"), rank, 3.9, None, "high", (evidence,),
        (RecommendedAction("now", "Stop the job"),), "docs/runbooks/numerics.nan_rank.md",
    )  # fmt: skip
    separates = (Fault("numerics.nan_rank"), Fault("numerics.nan_data"))
    check = NextCheck("Replay the batch", "", separates)
    return Incident(
        id=IncidentId("0123456789abcdef0123"),
        jobs=("run-1", "run-2"),
        attempt=2,
        cluster=None,
        status="open",
        severity="critical",
        opened_at=AT,
        detected_at=AT + 1,
        updated_at=AT + 1,
        resolved_at=None,
        summary="NaN from one rank: rank 3 on gpu-12",
        symptoms=(Symptom("job.nonfinite", entities.job("run-1"), AT, 1.0, "nonfinite", "NaN"),),
        root_cause=RootCause(
            "provisional", "log-odds-1", "2026.11", (cause,), UnknownScore(1.6, ("a reason",)),
            (check,), DataQuality(("training.loss_scale",), 0.0, 0.75),
        ),
        impact=Impact(8, 2, None, 12.3456789),
        timeline=(TimelineMoment(AT + 1, "opened", "NaN"),),
    )  # fmt: skip


def test_the_schema_is_a_schema():
    assert jsonschema.Draft202012Validator.META_SCHEMA["$id"] == incident_schema.schema()["$schema"]
    jsonschema.Draft202012Validator.check_schema(incident_schema.schema())


def test_an_incident_is_a_document_of_the_schema_and_of_strict_json(incident, valid_incident):
    document = incident.document()
    valid_incident(document)
    assert document == json.loads(json.dumps(document, allow_nan=False))


def test_the_first_of_the_jobs_is_the_job(incident):
    assert "run-1" == incident.job == incident.document()["job"]
    assert ["run-1", "run-2"] == incident.document()["jobs"]


def test_a_cluster_wide_incident_has_no_job(incident, valid_incident):
    alone = replace(incident, jobs=(), resolved_at=AT + 60, status="resolved")
    assert None is alone.document()["job"]
    assert "2023-11-14T22:14:20.000Z" == alone.document()["resolved_at"]
    valid_incident(alone.document())


def test_every_field_that_section_5_of_the_contract_names_is_there(incident):
    document = incident.document()
    assert {
        "schema_version", "id", "job", "jobs", "attempt", "cluster", "status", "severity",
        "opened_at", "detected_at", "updated_at", "resolved_at", "summary", "symptoms",
        "root_cause", "impact", "timeline", "handling",
            "cause_history",  # added: consumers accept more fields
    } == set(document)  # fmt: skip
    cause = document["root_cause"]
    assert {
        "status", "engine", "catalogue", "hypotheses", "unknown", "next_checks", "data_quality",
    } == set(cause)  # fmt: skip
    assert {
        "rank", "fault", "entity", "score", "probability", "confidence", "evidence", "actions",
        "runbook",
    } == set(cause["hypotheses"][0])  # fmt: skip
    assert {
        "relation", "family", "entity", "signal", "window", "observed", "expected", "weight",
        "text",
    } == set(cause["hypotheses"][0]["evidence"][0])  # fmt: skip
    assert {"missing", "clock_skew_seconds", "coverage"} == set(cause["data_quality"])
    assert {
        "ranks", "nodes", "slowdown", "gpu_seconds_lost",
        "jobs", "ranks_at_cause", "gpu_hours_lost", "lost", "counterfactual",  # added
    } == set(document["impact"])  # fmt: skip


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("id",), "not hex"),
        (("status",), "closed"),
        (("severity",), "fatal"),
        (("opened_at",), "yesterday"),
        (("attempt",), -1),
        (("symptoms",), []),
        (("root_cause", "hypotheses", 0, "fault"), "gpu.tired"),
        (("root_cause", "hypotheses", 0, "rank"), 0),
        (("root_cause", "hypotheses", 0, "confidence"), "sure"),
        (("root_cause", "hypotheses", 0, "entity", "type"), "planet"),
        (("root_cause", "hypotheses", 0, "evidence", 0, "relation"), "maybe"),
        (("root_cause", "next_checks", 0, "separates", 0), "gpu.tired"),
        (("impact", "ranks"), -1),
    ],
)
def test_the_schema_refuses_what_the_contract_does_not_allow(incident, valid_incident, path, value):
    document = incident.document()
    *way, last = path
    part = document
    for step in way:
        part = part[step]
    part[last] = value
    with pytest.raises(jsonschema.ValidationError):
        valid_incident(document)


def test_the_schema_allows_what_a_later_version_adds(incident, valid_incident):
    valid_incident({**incident.document(), "colour": "green"})
