"""Rows of what people confirmed: at most one fault an incident, by its last feedback.

They outlive the incidents, and go when feedback is withdrawn or everything learnt is reset.
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select

from ...alerts.actions import PersonAction
from ...vocabulary import faults
from ...vocabulary.ids import Fault
from . import incidents
from .tables import learnt


def follow(db: Connection, action: PersonAction) -> None:
    """Take an action into account, after it was written: feedback, its withdrawal, a reset."""
    if action.kind == "forget":
        db.execute(delete(learnt).where(learnt.c.at <= action.at))
        return
    if action.kind not in ("feedback", "withdraw") or action.incident is None:
        return
    document = incidents.find(db, action.incident)
    if document is None:
        return
    fault = confirmed(document)
    db.execute(delete(learnt).where(learnt.c.incident == action.incident))
    if fault is not None:
        db.execute(insert(learnt).values(incident=action.incident, fault=fault, at=action.at))


def confirmed(document: Mapping[str, Any]) -> Fault | None:
    """Return the fault that an incident had by its last feedback, None where that names none."""
    given = document["handling"]["feedback"]
    if not given or given[-1]["verdict"] == "unsure":
        return None
    fault = given[-1]["fault"]
    if fault is None and given[-1]["verdict"] == "correct":
        fault = next((row["fault"] for row in document["root_cause"]["hypotheses"]), None)
    return None if fault in (None, faults.UNKNOWN) else Fault(fault)


def counts(db: Connection) -> dict[Fault, int]:
    """Return how many incidents were confirmed of each fault, by name."""
    rows = db.execute(
        select(learnt.c.fault, func.count()).group_by(learnt.c.fault).order_by(learnt.c.fault)
    )
    return {Fault(fault): count for fault, count in rows}
