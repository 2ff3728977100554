"""/actions: what was done about causes, or would have been; a veto before it, an undo after it."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, ConfigDict, Field

from ....vocabulary.answers.remedies import ActionRecordDocument, ActionRecordsDocument
from ....vocabulary.remedies import RemedyMode, RemedyOutcome, RemedyState
from ...remedies import records, returns
from ...store.check_rows import CheckFilter
from ...store.remedy_rows import RemedyFilter, RemedyRecord
from ..auth import TokenGuard, TokenPrincipal
from ..pages import cut
from ..parameters import JobPattern, Limit, Moment, Number, QueryParameters
from ..problems import ProblemError
from ..services import CollectorParts
from ..shape_routes import ShapeRouter
from .checks import MOST_RESULTS

NOBODY = "somebody"
"""By whom something is where neither the request nor the token says it."""


class ActionsQuery(QueryParameters):
    """Which actions: `job` and `cause` are patterns, `since` is of when they were planned."""

    state: RemedyState | None = None
    mode: RemedyMode | None = None
    outcome: RemedyOutcome | None = None
    incident: Annotated[str | None, Query(max_length=64)] = None
    host: Annotated[str | None, Query(max_length=255)] = None
    executor: Annotated[str | None, Query(max_length=32)] = None
    job: JobPattern | None = None
    cause: JobPattern | None = None
    since: Moment | None = None
    limit: Limit = 50
    cursor: Number | None = None


class ActionVerdict(BaseModel):
    """Who decides and why; `by` is the token's name when it is left out."""

    model_config = ConfigDict(extra="forbid")

    by: Annotated[str, Field(max_length=200)] = ""
    note: Annotated[str, Field(max_length=1000)] = ""


class ActionReturn(ActionVerdict):
    """Who takes back what an action did; `without_check`: though its node passed no check since."""

    without_check: bool = False


def router(services: CollectorParts, guard: TokenGuard) -> APIRouter:
    """Return the routes. What is asked twice is answered as it is."""
    routes = ShapeRouter(tags=["actions"])
    reader = Annotated[TokenPrincipal, Depends(guard.require("read"))]
    admin = Annotated[TokenPrincipal, Depends(guard.require("admin"))]
    store = services.store

    def find(identity: str, principal: TokenPrincipal) -> RemedyRecord:
        row = store.remedy(identity)
        if not principal.permits([row.job]):
            raise ProblemError(404, f"there is no action {identity!r}")
        return row

    def shown(row: RemedyRecord) -> ActionRecordDocument:
        return records.document(row, store.remedy_steps([row.id])[row.id])

    def checked(row: RemedyRecord, body: ActionReturn, by: str) -> str:
        """Return what is noted of the checks of a node that comes back, "" where none is asked."""
        used = bool(store.checks(CheckFilter(), limit=1))
        if (
            row.state != "done"
            or row.undo
            or not returns.asked(row, services.settings.actions.check_before_return, used=used)
        ):
            return ""
        results = store.checks(
            CheckFilter(host=row.host, since=returns.since(row)), limit=MOST_RESULTS
        )
        why = returns.doubt(row, results)
        if not why:
            return returns.passed(results)
        if not body.without_check:
            raise ProblemError(409, f"{why}, or take it back without_check, by name")
        if by == NOBODY:
            raise ProblemError(409, f"{why}; without a check it comes back by name: say who (by)")
        return f"without a check: {why}"

    @routes.get("/actions", summary="List actions about causes")
    def actions(
        principal: reader, query: Annotated[ActionsQuery, Query()]
    ) -> ActionRecordsDocument:
        wanted = RemedyFilter(
            state=query.state,
            mode=query.mode,
            outcome=query.outcome,
            incident=query.incident,
            host=query.host,
            executor=query.executor,
            since=query.since,
            job=query.job,
            fault=query.cause,
        )
        rows = [row for row in store.remedies(wanted) if principal.permits([row.job])]
        page, after = cut(rows, limit=query.limit, cursor=query.cursor)
        steps = store.remedy_steps([row.id for row in page])
        return ActionRecordsDocument(
            items=[records.document(row, steps.get(row.id, ())) for row in page],
            record=records.tally(rows),
            next_cursor=after,
        )

    @routes.get("/actions/{action:encoded}", summary="Get an action")
    def action(action: str, principal: reader) -> ActionRecordDocument:
        return shown(find(action, principal))

    @routes.post("/actions/{action:encoded}/veto", summary="Veto a planned action")
    def veto(
        action: str, principal: admin, body: ActionVerdict | None = None
    ) -> ActionRecordDocument:
        find(action, principal)
        body = body or ActionVerdict()
        by = body.by or principal.name or NOBODY
        store.veto_remedy(action, by=by, note=body.note, now=services.store_clock.now())
        return shown(store.remedy(action))

    @routes.post(
        "/actions/{action:encoded}/undo", summary="Take back what an action did", status_code=202
    )
    def undo(
        action: str, principal: admin, body: ActionReturn | None = None
    ) -> ActionRecordDocument:
        """Ask for it: `undo` is wanted until it is done, and `state` undone then.

        A node that was taken out comes back after a check that it passed since
        (`actions.check_before_return`), or by the word of somebody who is named (`without_check`).
        """
        row = find(action, principal)
        body = body or ActionReturn()
        by = body.by or principal.name or NOBODY
        now = services.store_clock.now()
        if why := records.no_undo(row):
            raise ProblemError(409, why)
        note = "; ".join(part for part in (body.note, checked(row, body, by)) if part)
        store.want_undo_of_remedy(action, by=by, note=note, now=now)
        return shown(store.remedy(action))

    return routes
