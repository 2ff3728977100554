"""What records, timelines and logs say of an action."""

from collections.abc import Mapping
from typing import Any

from ...vocabulary.remedies import REMEDY_OUTCOMES, RemedyKind
from ...vocabulary.times import rfc3339
from ..store.remedy_rows import RemedyRecord, RemedyStep

_OUTCOMES: Mapping[str, str] = {
    "recovered": "the job recovered",
    "not_recovered": "the job did not recover",
    "undetermined": "whether it helped is not known",
}


def named(action: RemedyKind, job: str, host: str | None, entity: Mapping[str, Any]) -> str:
    match action:
        case "restart":
            return f"restart of {job} in place"
        case "exclude_device":
            return f"restart of {job} without {entity['type']} {entity['id']} of {host}"
        case "exclude_node":
            return f"taking {host} out, {job} goes on without it"
        case "requeue":
            return f"requeue of {job}"
        case "pause":
            return f"pause of {job}"


def of_record(row: RemedyRecord) -> str:
    return named(row.action, row.job, row.host, row.entity)


def planned(fault: str, probability: float | None, due_at: float, executor: str) -> str:
    """Return why an action is planned, and until when it can be vetoed."""
    sure = "" if probability is None else f", probability {probability:.2f}"
    return f"{fault}{sure}; {executor} does it at {rfc3339(due_at)}, unless it is vetoed"


def moment(step: RemedyStep, row: RemedyRecord) -> str:
    """Return the entry of an incident's timeline about one step of an action."""
    what = f"{'dry run: ' if row.mode == 'dry_run' else ''}{of_record(row)}"
    state = step.state
    if state in REMEDY_OUTCOMES:
        return f"{_OUTCOMES[state]} ({what}): {step.text}"
    by = "" if step.author == "rankscope" else f" by {step.author}"
    ending = f": {step.text}" if step.text else ""
    return f"{what}: {state}{by}{ending} (action {row.id})"
