"""/incidents/{id}/checks: which check tells its causes apart, asked of the agent of its host.

Nothing is asked of anybody unless the settings allow it (`checks.requests`), and no agent takes
part that is not set to (`checking.allowed`): it asks for requests, as it does for profiles.
"""

import secrets
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field

from ....checks import choosing
from ....vocabulary.answers.checks import (
    CheckOrderDocument,
    CheckRequestDocument,
    CheckRequestState,
    SeparatingCheck,
    SeparatingChecksDocument,
)
from ....vocabulary.checks import runnable
from ...store.check_requests import CheckRequestRecord
from ...store.check_rows import CheckFilter, NumberedCheck
from ...windows import queries
from ..auth import TokenGuard, TokenPrincipal
from ..problems import ProblemError
from ..services import CollectorParts
from ..shape_routes import ShapeRouter
from .checks import CheckName, shown
from .incidents import finding

_MOST_RESULTS = 200
_RUN_SECONDS = 720.0
"""Longer than any agent gives one check; then it is over, whatever became of it."""


class CheckAsked(BaseModel):
    """Which check; without one that which tells the causes apart best."""

    model_config = ConfigDict(extra="forbid")

    check: CheckName | None = None
    by: Annotated[str, Field(max_length=200)] = ""


def orders(services: CollectorParts, host: str) -> list[CheckOrderDocument]:
    """Return what is asked of the agent of a host, which is told once."""
    if not services.settings.checks.requests:
        return []
    rows = services.store.wanted_checks(host, services.store_clock.now())
    return [
        CheckOrderDocument(id=row.id, check=row.check_name, incident=row.incident, until=row.until)
        for row in rows
    ]


def router(services: CollectorParts, guard: TokenGuard) -> APIRouter:
    routes = ShapeRouter(tags=["checks"])
    reader = Annotated[TokenPrincipal, Depends(guard.require("read"))]
    admin = Annotated[TokenPrincipal, Depends(guard.require("admin"))]
    find_incident = finding(services.store)
    store = services.store

    def separating_of(document: dict[str, Any]) -> SeparatingChecksDocument:
        identity = str(document["id"])
        results = store.checks(CheckFilter(incident=identity), limit=_MOST_RESULTS)
        past = {row.check_name for row in results if row.verdict != "not_measured"}
        chosen, why = _chosen(document, past, _devices(services, document))
        asked = store.check_requests(identity)
        return SeparatingChecksDocument(
            next=None if chosen is None else _offered(services, identity, chosen),
            why=why,
            requests=[_request(row, results, services.store_clock.now()) for row in asked],
            results=[shown(row) for row in results],
        )

    @routes.get("/incidents/{incident:encoded}/checks", summary="Get which check to run for it")
    def checks(incident: str, principal: reader) -> SeparatingChecksDocument:
        return separating_of(find_incident(incident, principal))

    @routes.post(
        "/incidents/{incident:encoded}/checks",
        summary="Ask the agent of its host for a check",
        status_code=202,
    )
    def ask(
        incident: str, principal: admin, body: CheckAsked | None = None
    ) -> SeparatingChecksDocument:
        document = find_incident(incident, principal)
        principal.check_unlimited()
        if not services.settings.checks.requests:
            raise ProblemError(409, "this collector asks for no checks: set checks.requests")
        body = body or CheckAsked()
        offered = separating_of(document).next
        host = (
            offered.host
            if offered is not None
            else next(iter(choosing.hosts(document, list(_devices(services, document)))), None)
        )
        name = body.check or (None if offered is None else offered.check)
        if name is None or host is None:
            raise ProblemError(409, separating_of(document).why or "no check says anything of it")
        if name not in runnable():
            raise ProblemError(422, f"{name} is a result of other tools, and nothing to run")
        now = services.store_clock.now()
        store.ask_check(
            CheckRequestRecord(
                id=secrets.token_hex(8),
                incident=str(document["id"]),
                host=host,
                check_name=name,
                by_whom=body.by or principal.name or "somebody",
                at=now,
                until=now + services.settings.checks.wait_seconds,
            )
        )
        return separating_of(document)

    return routes


def _devices(services: CollectorParts, document: dict[str, Any]) -> dict[str, int]:
    """Return how many ranks run on each host of an incident's job, by its newest attempt."""
    job = document.get("job") or next(iter(document.get("jobs") or ()), None)
    rows = services.stages.read(lambda line: queries.ranks(line.windows, job)) if job else []
    found: dict[str, int] = {}
    for row in rows:
        if row.host:
            found[row.host] = found.get(row.host, 0) + 1
    return found


def _chosen(
    document: dict[str, Any], past: set[str], devices: dict[str, int]
) -> tuple[tuple[str, choosing.ChosenCheck] | None, str]:
    """Return the best check with the host that it is run on; None and why, where there is none."""
    causes = choosing.suspected(document)
    without_peer = {row.name for row in runnable().values() if row.needs == "peer"}
    best: tuple[str, choosing.ChosenCheck] | None = None
    hosts = choosing.hosts(document, list(devices))
    for host in hosts:
        ranked = choosing.ranked(
            causes, host=host, devices=devices.get(host, 1), past=past | without_peer
        )
        if ranked and (best is None or ranked[0].worth > best[1].worth):
            best = host, ranked[0]
    if best is not None:
        return best, ""
    if not hosts:
        return None, "no check shows any of its causes"
    run = f"; run already: {', '.join(sorted(past))}" if past else ""
    return None, f"no check tells its causes apart{run}"


def _offered(
    services: CollectorParts, identity: str, chosen: tuple[str, choosing.ChosenCheck]
) -> SeparatingCheck:
    host, one = chosen
    return SeparatingCheck(
        check=one.check.name,
        help=one.check.help,
        host=host,
        gain_bits=round(one.gain, 3),
        device_seconds=one.cost,
        separates=[cause.fault for cause in one.check.causes],
        command=f"ssh {host} rankscope check --incident {identity[:8]}",
        requestable=services.settings.checks.requests,
    )


def _request(
    row: CheckRequestRecord, results: Sequence[NumberedCheck], now: float
) -> CheckRequestDocument:
    had = any(
        (one.host, one.check_name) == (row.host, row.check_name) and one.at >= row.at
        for one in results
    )
    status: CheckRequestState = "waiting" if row.taken_at is None else "running"
    text = row.failed
    if had:
        status = "done"
    elif row.failed:
        status = "failed"
    elif row.taken_at is None and now > row.until:
        status = "failed"
        text = f"the agent of {row.host} did not ask for it: set checking.allowed there"
    elif row.taken_at is not None and now > row.taken_at + _RUN_SECONDS:
        status, text = "failed", "the agent began with it, and sent no result"
    return CheckRequestDocument(
        id=row.id,
        check=row.check_name,
        host=row.host,
        by=row.by_whom,
        at=row.at,
        status=status,
        text=text,
    )
