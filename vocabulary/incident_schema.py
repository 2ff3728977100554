"""The JSON Schema of the incident document, built from the vocabulary it is written in.

`docs/reference/incident.schema.json` is its published copy; a test holds the two together.
Consumers must accept added fields, so objects stay open.
"""

from typing import Any, get_args

from . import entities, faults, incidents

_TIME = {"type": "string", "format": "date-time"}
_TEXT = {"type": "string"}
_NUMBER = {"type": "number"}
_MAYBE_NUMBER = {"type": ["number", "null"]}
_SHOWN = {"type": ["number", "string", "null"]}
_RANKS = {
    "anyOf": [
        {"type": "integer", "minimum": 0},
        # Many ranks are written as runs: first-last, and :stride where it is not 1.
        {"type": "string", "pattern": "^[0-9]+-[0-9]+(:[0-9]+)?$"},
    ]
}


def _object(properties: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return an object schema: `properties` are required, documents of before lack `optional`."""
    more = optional or {}
    return {
        "type": "object",
        "properties": {**properties, **more},
        "required": list(properties),
    }


def _list(items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


def _choice(values: object) -> dict[str, Any]:
    return {"enum": list(get_args(values))}


def schema() -> dict[str, Any]:
    """Return the schema (JSON Schema 2020-12)."""
    fault = {"enum": list(faults.catalogue())}
    entity = {"$ref": "#/$defs/entity"}
    symptom = _object(
        {
            "kind": _TEXT,
            "entity": entity,
            "onset": _TIME,
            "magnitude": _MAYBE_NUMBER,
            "detector": _TEXT,
            "text": _TEXT,
            "ranks": _list(_RANKS),
        }
    )
    handled = _object({"at": _TIME, "by": _TEXT, "note": _TEXT})
    feedback = _object(
        {
            "at": _TIME,
            "by": _TEXT,
            "verdict": {"enum": ["correct", "wrong", "unsure"]},
            "fault": {"anyOf": [fault, {"type": "null"}]},
            "entity": {"type": ["string", "null"]},
            "note": _TEXT,
        }
    )
    evidence = _object(
        {
            "relation": _choice(incidents.Relation),
            "family": _TEXT,
            "entity": entity,
            "signal": _TEXT,
            "window": _list(_TIME, minItems=2, maxItems=2),
            "observed": _SHOWN,
            "expected": _SHOWN,
            "weight": _NUMBER,
            "text": _TEXT,
        }
    )
    action = _object({"when": {"enum": ["now", "investigate"]}, "text": _TEXT, "command": _TEXT})
    hypothesis = _object(
        {
            "rank": {"type": "integer", "minimum": 1},
            "fault": fault,
            "entity": entity,
            "score": _NUMBER,
            "probability": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
            "confidence": _choice(incidents.Confidence),
            "evidence": _list(evidence),
            "actions": _list(action),
            "runbook": _TEXT,
        }
    )
    root_cause = _object(
        {
            "status": _choice(incidents.CauseStatus),
            "engine": _TEXT,
            "catalogue": _TEXT,
            "hypotheses": _list(hypothesis),
            "unknown": _object({"score": _NUMBER, "reasons": _list(_TEXT)}),
            "next_checks": _list(
                _object({"text": _TEXT, "command": _TEXT, "separates": _list(fault)})
            ),
            "data_quality": _object(
                {
                    "missing": _list(_TEXT),
                    "clock_skew_seconds": _MAYBE_NUMBER,
                    "coverage": _MAYBE_NUMBER,
                }
            ),
        }
    )
    cause_change = _object(
        {
            "at": _TIME,
            "status": _choice(incidents.CauseStatus),
            "fault": fault,
            "entity": entity,
            "confidence": _choice(incidents.Confidence),
            "score": _NUMBER,
            "why": _TEXT,
        }
    )
    stack_group = _object(
        {
            "ranks": _list(_RANKS),
            "count": {"type": "integer", "minimum": 1},
            "odd": {"type": "boolean"},
            "text": _TEXT,
        }
    )
    amount = _object({"count": _NUMBER, "seconds": _NUMBER})
    rank = {"type": ["integer", "null"], "minimum": 0}
    profiled = _object(
        {
            "at": _TIME,
            "id": _TEXT,
            "text": _TEXT,
            "suspect": rank,
            "peer": rank,
            "rows": _list(
                _object(
                    {
                        "kind": _TEXT,
                        "name": _TEXT,
                        "suspect": amount,
                        "peer": amount,
                        "difference_seconds": _NUMBER,
                    }
                )
            ),
            "traces": _list(_TEXT),
        },
        {"per": {"enum": ["step", "second"]}},
    )
    document = _object(
        {
            "schema_version": {"const": incidents.SCHEMA_VERSION},
            "id": {"type": "string", "pattern": "^[0-9a-f]{16,64}$"},
            "job": {"type": ["string", "null"]},
            "jobs": _list(_TEXT),
            "attempt": {"type": "integer", "minimum": 0},
            "cluster": {"type": ["string", "null"]},
            "status": _choice(incidents.Status),
            "severity": {"enum": list(faults.SEVERITIES)},
            "opened_at": _TIME,
            "detected_at": _TIME,
            "updated_at": _TIME,
            "resolved_at": {"type": ["string", "null"], "format": "date-time"},
            "summary": _TEXT,
            "symptoms": _list(symptom, minItems=1),
            "root_cause": root_cause,
            "impact": _object(
                {
                    "ranks": {"type": "integer", "minimum": 0},
                    "nodes": {"type": "integer", "minimum": 0},
                    "slowdown": _MAYBE_NUMBER,
                    "gpu_seconds_lost": _NUMBER,
                },
                {
                    "gpu_hours_lost": _NUMBER,
                    "jobs": {"type": "integer", "minimum": 0},
                    "ranks_at_cause": {"type": "integer", "minimum": 0},
                    "lost": _list(
                        _object({"job": _TEXT, "week": _TEXT, "gpu_seconds_lost": _NUMBER})
                    ),
                },
            ),
            "timeline": _list(_object({"at": _TIME, "kind": _TEXT, "text": _TEXT})),
            "handling": _object(
                {
                    "acknowledged": {"anyOf": [handled, {"type": "null"}]},
                    "assignee": {"type": ["string", "null"]},
                    "resolved": {"anyOf": [handled, {"type": "null"}]},
                    "feedback": _list(feedback),
                }
            ),
        },
        {
            "cause_history": _list(cause_change),
            "stacks": _list(stack_group),
            "profiles": _list(profiled),
        },
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Rankscope incident",
        "description": "What broke, where, how sure, on what evidence, what to do, what it costs.",
        **document,
        "$defs": {
            "entity": _object(
                {
                    "type": {"enum": list(entities.ENTITY_TYPES)},
                    "id": _TEXT,
                    "host": {"type": ["string", "null"]},
                    "ranks": _list(_RANKS),
                }
            )
        },
    }
