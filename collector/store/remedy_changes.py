"""The only ways in which an action about a cause changes.

Every change is one transaction, compares the state that it begins from, and writes its step with
it; writers take turns, so that of two collectors one is told that it came too late. What is carried
out is started first: whoever dies in between leaves a row that says so, and whose lease ends.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, and_, func, insert, or_, select, update

from ...vocabulary.remedies import EXCLUDING, RESTARTING, RemedyKind, RemedyMode
from . import documents
from .errors import RefusedError
from .remedy_rows import LEASE_SECONDS, RemedyRecord, find, leased
from .tables_remedies import remedies, remedy_steps

BUDGET_SECONDS = 3600.0
VETO_LASTS_SECONDS = 3600.0
"""A veto holds for the same action at the same place for so long, whatever incident asks again."""
DRY_OUT_SECONDS = 86_400.0
"""A node that would have been taken out counts as out for so long: nobody brings it back."""
BY = "rankscope"
PLANNED_ALREADY = "it is planned already"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRemedy:
    """An action as it is planned; `entity` is that of a document."""

    id: str
    incident: str
    job: str
    attempt: int
    fault: str
    entity: Mapping[str, Any]
    host: str | None
    action: RemedyKind
    executor: str
    mode: RemedyMode
    probability: float | None
    due_at: float
    text: str


@dataclass(frozen=True, slots=True)
class RemedyBudget:
    """How much may be done: nodes within an hour and at once, actions of a job within an hour."""

    nodes_per_hour: int
    nodes_out: int
    restarts_per_job: int


class LostLeaseError(RefusedError):
    """Somebody else carries the action out by now, or its state is another one."""


# Planning


def plan(db: Connection, new: PlannedRemedy, now: float, *, settle_seconds: float) -> str:
    """Write a planned action, once; return why not, "" where it is written.

    `settle_seconds`: for so long after an action its job gets no other one, unless it is known
    what came of it.
    """
    if db.execute(select(remedies.c.id).where(remedies.c.id == new.id)).first() is not None:
        return PLANNED_ALREADY
    if why := _conflict(db, new, now, settle_seconds):
        return why
    db.execute(
        insert(remedies).values(
            id=new.id,
            incident=new.incident,
            job=new.job,
            attempt=new.attempt,
            fault=new.fault,
            entity=documents.written(new.entity),
            host=new.host,
            action=new.action,
            executor=new.executor,
            mode=new.mode,
            state="planned",
            reason="",
            probability=new.probability,
            planned_at=now,
            due_at=new.due_at,
            owner="",
            lease_until=0.0,
            seen="{}",
            measured="{}",
            undo="",
        )
    )
    _step(db, new.id, now, "planned", BY, new.text)
    return ""


def _conflict(db: Connection, new: PlannedRemedy, now: float, settle_seconds: float) -> str:
    mine = (remedies.c.mode == new.mode) & (remedies.c.job == new.job)
    under_way = select(remedies.c.id).where(mine, remedies.c.state.in_(("planned", "started")))
    if (row := db.execute(under_way).first()) is not None:
        return f"action {row.id} of this job is under way"
    unsettled = select(remedies.c.id).where(
        mine,
        remedies.c.state == "done",
        remedies.c.outcome.is_(None),
        remedies.c.ended_at > now - settle_seconds,
    )
    if (row := db.execute(unsettled).first()) is not None:
        return f"what came of action {row.id} is not known yet"
    if new.action in EXCLUDING:
        out = select(remedies.c.id).where(_out(new.mode, now), remedies.c.host == new.host)
        if (row := db.execute(out).first()) is not None:
            return f"{new.host} is out already, by action {row.id}"
    place = remedies.c.host == new.host if new.action in EXCLUDING else remedies.c.job == new.job
    vetoed = select(remedies.c.id).where(
        place,
        remedies.c.action == new.action,
        remedies.c.state == "vetoed",
        remedies.c.ended_at > now - VETO_LASTS_SECONDS,
    )
    if (row := db.execute(vetoed).first()) is not None:
        return f"a person vetoed it: action {row.id}"
    return ""


def _out(mode: RemedyMode, now: float) -> Any:
    """Return the condition of rows whose node is out, or may be."""
    kept = and_(
        remedies.c.mode == mode,
        remedies.c.action.in_(EXCLUDING),
        or_(
            remedies.c.state.in_(("started", "done")),
            # What failed may have been done in part; it counts until it was taken back.
            and_(remedies.c.state == "failed", remedies.c.undo != ""),
        ),
    )
    if mode == "dry_run":
        return and_(kept, remedies.c.started_at > now - DRY_OUT_SECONDS)
    return kept


# Carrying out


def start(
    db: Connection,
    identity: str,
    *,
    owner: str,
    seen: Mapping[str, Any],
    measured: Mapping[str, Any],
    budget: RemedyBudget,
    now: float,
) -> str:
    """Begin to carry an action out, under a lease; return why not yet, "" where it is begun.

    Raises LostLeaseError where it is no longer planned.
    """
    row = find(db, identity)
    if row.state != "planned":
        raise LostLeaseError(f"action {identity} is {row.state} by now")
    if why := _beyond(db, row, budget, now):
        return why
    _change(
        db,
        identity,
        was="planned",
        state="started",
        owner=owner,
        lease_until=now + LEASE_SECONDS,
        seen=documents.written(seen),
        measured=documents.written(measured),
        started_at=now,
        reason="",
    )
    _step(db, identity, now, "started", BY, "")
    return ""


def _beyond(db: Connection, row: RemedyRecord, budget: RemedyBudget, now: float) -> str:
    """Return which bound an action would break, "" where none."""
    # No upper end of the hour: what a clock that was ahead wrote counts too. And what was started
    # long ago may have been done just now.
    since = now - BUDGET_SECONDS
    lately = and_(
        remedies.c.mode == row.mode,
        remedies.c.started_at.is_not(None),
        or_(
            remedies.c.started_at > since,
            remedies.c.ended_at > since,
            remedies.c.state == "started",
        ),
    )
    if row.action in EXCLUDING:
        hour = _count(db, lately, remedies.c.action.in_(EXCLUDING))
        if hour >= budget.nodes_per_hour:
            return f"{hour} of {budget.nodes_per_hour} nodes were taken out within an hour"
        out = db.execute(
            select(func.count(remedies.c.host.distinct())).where(_out(row.mode, now))
        ).scalar_one()
        if out >= budget.nodes_out:
            return f"{out} nodes are out, and {budget.nodes_out} may be"
    if row.action in RESTARTING:
        restarts = _count(db, lately, remedies.c.job == row.job, remedies.c.action.in_(RESTARTING))
        if restarts >= budget.restarts_per_job:
            return f"{restarts} of {budget.restarts_per_job} restarts of this job within an hour"
    return ""


def _count(db: Connection, *conditions: Any) -> int:
    query = select(func.count()).select_from(remedies).where(*conditions)
    return int(db.execute(query).scalar_one())


def take(db: Connection, identity: str, *, owner: str, now: float) -> bool:
    """Take over what nobody holds a lease of; False where somebody does, or it is over."""
    row = find(db, identity)
    if leased(row, now) or not (row.state == "started" or row.undo in ("wanted", "started")):
        return False
    values: dict[str, Any] = {"owner": owner, "lease_until": now + LEASE_SECONDS}
    if row.undo == "wanted":
        values["undo"] = "started"
    _change(db, identity, was=row.state, **values)
    return True


def renew(db: Connection, identity: str, *, owner: str, now: float) -> None:
    """Renew a lease before something is done under it. Raises LostLeaseError."""
    _change(db, identity, owner_was=owner, lease_until=now + LEASE_SECONDS)


def let_go(db: Connection, identity: str, *, owner: str, until: float, reason: str) -> None:
    """Leave an action to whoever looks at it after `until`. Raises LostLeaseError."""
    row = find(db, identity)
    # What was done or failed keeps its reason while it is being taken back.
    why = row.reason if row.undo else reason
    _change(db, identity, owner_was=owner, lease_until=until, reason=why)


def finish(
    db: Connection,
    identity: str,
    *,
    owner: str,
    state: str,
    reason: str,
    now: float,
    undo: bool = False,
) -> None:
    """End what was started, done or failed; `undo`: what is half done is to be taken back.

    Raises LostLeaseError where another collector has it: that one says how it ends.
    """
    more = {"undo": "wanted", "undo_at": now} if undo else {}
    _change(
        db,
        identity,
        was="started",
        owner_was=owner,
        state=state,
        reason=reason,
        ended_at=now,
        lease_until=0.0,
        **more,
    )
    _step(db, identity, now, state, BY, reason)


def withdraw(db: Connection, identity: str, reason: str, now: float) -> None:
    """End a planned action whose reason is gone. Raises LostLeaseError."""
    _change(db, identity, was="planned", state="withdrawn", reason=reason, ended_at=now)
    _step(db, identity, now, "withdrawn", BY, reason)


def hold(db: Connection, identity: str, reason: str) -> None:
    """Note why a planned action waits. Raises LostLeaseError."""
    _change(db, identity, was="planned", reason=reason)


# What people do


def veto(db: Connection, identity: str, *, by: str, note: str, now: float) -> None:
    """Take a planned action off. Raises UnknownIdError, and RefusedError where it is too late."""
    row = find(db, identity)
    if row.state == "vetoed":
        return
    if row.state != "planned":
        raise RefusedError(f"action {identity} is {row.state}: only a planned one can be vetoed")
    _change(db, identity, was="planned", state="vetoed", reason=note, ended_at=now)
    _step(db, identity, now, "vetoed", by, note)


def want_undo(db: Connection, identity: str, *, by: str, note: str, now: float) -> None:
    """Ask for an action to be taken back. Raises UnknownIdError, RefusedError."""
    row = find(db, identity)
    if row.state == "undone" or row.undo in ("wanted", "started"):
        return
    if row.state not in ("done", "failed"):
        raise RefusedError(f"action {identity} is {row.state}: only what was done can be undone")
    if row.mode == "dry_run":
        raise RefusedError(f"action {identity} was a dry run: there is nothing to undo")
    _change(db, identity, was=row.state, undo="wanted", undo_at=now, lease_until=0.0)
    text = f"to be taken back{f': {note}' if note else ''}"
    _step(db, identity, now, row.state, by, text)


def undone(db: Connection, identity: str, *, owner: str, text: str, now: float) -> None:
    """Note that an action was taken back. Raises LostLeaseError."""
    row = find(db, identity)
    failed = row.state == "failed"
    _change(
        db,
        identity,
        was=row.state,
        owner_was=owner,
        state="failed" if failed else "undone",
        undo="",
        lease_until=0.0,
        reason=row.reason if failed else text,
    )
    _step(db, identity, now, "undone", BY, text)


def undo_failed(db: Connection, identity: str, *, owner: str, text: str, now: float) -> None:
    """Note that an action cannot be taken back, and stays. Raises LostLeaseError."""
    row = find(db, identity)
    reason = f"{row.reason}; {text}" if row.state == "failed" else text
    values = {"undo": "failed", "lease_until": 0.0, "reason": reason}
    _change(db, identity, was=row.state, owner_was=owner, **values)
    _step(db, identity, now, row.state, BY, text)


# What came of it


def settle(
    db: Connection, identity: str, *, outcome: str, after: float | None, text: str, now: float
) -> bool:
    """Note what came of an action, once; False where it is known."""
    row = find(db, identity)
    if row.outcome is not None:
        return False
    _change(db, identity, was=row.state, outcome=outcome, outcome_at=now, after_seconds=after)
    _step(db, identity, now, outcome, BY, text)
    return True


def entered(db: Connection, number: int) -> None:
    """Note that a step stands in its incident's timeline."""
    db.execute(update(remedy_steps).where(remedy_steps.c.number == number).values(entered=True))


def _change(
    db: Connection, identity: str, *, was: str | None = None, owner_was: str | None = None,
    **values: Any,
) -> None:  # fmt: skip
    """Change a row that is as it was thought to be. Raises LostLeaseError."""
    query = update(remedies).where(remedies.c.id == identity)
    if was is not None:
        query = query.where(remedies.c.state == was)
    if owner_was is not None:
        query = query.where(remedies.c.owner == owner_was)
    if db.execute(query.values(**values)).rowcount != 1:
        raise LostLeaseError(f"action {identity} was changed by somebody else")


def _step(db: Connection, remedy: str, at: float, state: str, by: str, text: str) -> None:
    db.execute(
        insert(remedy_steps).values(
            remedy=remedy, at=at, state=state, author=by, text=text, entered=False
        )
    )
