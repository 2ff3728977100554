"""What an incident really was, by people's feedback: the truth file beside its recording."""

from collections.abc import Mapping
from typing import Any

from .anonymising import StandInNames

SCHEMA = "rankscope-truth-1"


def truth(document: Mapping[str, Any], names: StandInNames | None = None) -> dict[str, Any]:
    """Return the truth about an incident, ready for JSON.

    `fault` is null where no feedback names one, `entity` where people named none. `first_cause` is
    what the incident showed.
    """
    rename = (lambda text: text) if names is None else names.identity
    first = next(iter(document["root_cause"]["hypotheses"]), None)
    given = next(iter(reversed(document["handling"]["feedback"])), None)
    fault, entity = None, None
    if given is not None and given["verdict"] != "unsure":
        fault = given["fault"]
        if given["verdict"] == "correct" and first is not None:
            fault, entity = fault or first["fault"], first["entity"]["id"]
        entity = given["entity"] or entity
    return {
        "schema": SCHEMA,
        "jobs": [rename(job) for job in document["jobs"]],
        "opened_at": document["opened_at"],
        "fault": fault,
        "entity": None if entity is None else rename(entity),
        "first_cause": None
        if first is None
        else {"fault": first["fault"], "entity": rename(first["entity"]["id"])},
    }
