"""Records of actions as the API and executors get them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from ...vocabulary.answers.remedies import ActionCount, ActionRecordDocument, ActionStep
from ...vocabulary.entities import Entity
from ...vocabulary.ranks import RankSet
from ...vocabulary.remedies import UNDOABLE
from ..store.remedy_rows import RemedyRecord, RemedyStep
from .executors.contract import RemedyOrder

_CHANGING = frozenset(
    (
        "state", "reason", "started_at", "ended_at", "outcome", "undo", "steps",
        "job_step_seconds_before", "job_step_seconds_after",
    )
)  # fmt: skip
"""Fields of a record that may differ between two attempts of its order."""


def document(row: RemedyRecord, steps: Sequence[RemedyStep] = ()) -> ActionRecordDocument:
    measured: Mapping[str, Any] = row.measured
    return ActionRecordDocument(
        id=row.id,
        incident=row.incident,
        cause=row.fault,
        entity=_entity(row.entity),
        host=row.host,
        job=row.job,
        attempt=row.attempt,
        action=row.action,
        executor=row.executor,
        mode=row.mode,
        state=cast("Any", row.state),
        at=row.planned_at,
        due_at=row.due_at,
        started_at=row.started_at,
        ended_at=row.ended_at,
        probability=row.probability,
        reason=row.reason,
        outcome=cast("Any", row.outcome),
        job_step_seconds_before=measured.get("before_seconds"),
        job_step_seconds_after=row.after_seconds,
        undo=cast("Any", row.undo),
        steps=[ActionStep(one.at, cast("Any", one.state), one.author, one.text) for one in steps],
    )


def order(row: RemedyRecord) -> RemedyOrder:
    """Return what an executor is asked to do.

    Its document has what was decided and nothing that changes between two attempts.
    """
    kept = document(row).document()
    return RemedyOrder(
        id=row.id,
        action=row.action,
        job=row.job,
        host=row.host,
        reason=f"{row.fault}, incident {row.incident}",
        at=row.planned_at,
        document={name: value for name, value in kept.items() if name not in _CHANGING},
    )


def no_undo(row: RemedyRecord) -> str:
    """Return why an action can never be taken back, "" where it can."""
    if row.action in UNDOABLE:
        return ""
    return f"a {row.action} cannot be taken back: steps that were lost are trained again"


def tally(rows: Iterable[RemedyRecord]) -> list[ActionCount]:
    """Return how many actions there were by cause, executor and mode, and what came of them."""
    states: dict[tuple[str, str, Any], Counter[str]] = {}
    outcomes: dict[tuple[str, str, Any], Counter[str]] = {}
    for row in rows:
        key = (row.fault, row.executor, row.mode)
        states.setdefault(key, Counter())[row.state] += 1
        outcomes.setdefault(key, Counter())[row.outcome or ""] += 1
    return [
        ActionCount(
            cause=fault,
            executor=executor,
            mode=mode,
            planned=found["planned"] + found["started"],
            taken=found["done"] + found["undone"],
            right=outcomes[fault, executor, mode]["recovered"],
            wrong=outcomes[fault, executor, mode]["not_recovered"],
            undetermined=outcomes[fault, executor, mode]["undetermined"],
            vetoed=found["vetoed"],
            withdrawn=found["withdrawn"],
            failed=found["failed"],
            undone=found["undone"],
        )
        for (fault, executor, mode), found in sorted(states.items())
    ]


def _entity(held: Mapping[str, Any]) -> Entity:
    ranks = ",".join(map(str, held["ranks"]))
    return Entity(
        held["type"], held["id"], held["host"], RankSet.parse(ranks) if ranks else RankSet()
    )
