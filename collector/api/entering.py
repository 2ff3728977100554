"""What people do, entered in the journal and waited for: the same way for every route."""

from collections.abc import Mapping
from typing import Any

from ...alerts.actions import ActionKind, PersonAction
from ...vocabulary.ids import IncidentId
from ..intake.waiting import UnavailableError
from ..journal.actions import RecordedAction
from . import asking
from .problems import ProblemError
from .services import CollectorParts

WAIT_SECONDS = 10.0
"""How long an answer waits for evaluation and the store; the action is kept in any case."""


def enter(
    services: CollectorParts,
    kind: ActionKind,
    *,
    by: str,
    incident: str | None = None,
    detail: Mapping[str, Any],
) -> tuple[str, bool]:
    """Enter an action; return its id, and whether the store has it already.

    Raises ProblemError 503 where the journal cannot take it.
    """
    entered = RecordedAction.new(
        PersonAction(
            kind=kind,
            incident=None if incident is None else IncidentId(incident),
            at=services.clock.now(),
            by=by,
            detail=dict(detail),
        ),
        token=asking.token_name.get(),
    )
    try:
        done = services.stages.act(entered, timeout_seconds=WAIT_SECONDS)
    except UnavailableError as error:
        headers = {"retry-after": str(error.retry_after_seconds)}
        raise ProblemError(503, str(error), headers=headers) from error
    return entered.id, done
