"""What the routes of silences and of maintenance windows share: listing, entering and ending."""

from collections.abc import Iterable
from dataclasses import replace

from ...alerts.notify.routing import RouteMatcher
from ..store import mutes
from ..store.mutes import DeliveryMute, MuteKind
from . import entering
from .auth import TokenPrincipal
from .pages import cut
from .services import CollectorParts
from .time_ranges import Line, MutesQuery, MuteTimes


class NewMute(MuteTimes):
    """A time range, and who asks for it why."""

    author: Line = ""
    comment: Line = ""


def listed(
    services: CollectorParts, kind: MuteKind, query: MutesQuery, now: float
) -> tuple[list[DeliveryMute], str | None]:
    """Return a page of the mutes of a kind, and the cursor of the next one."""
    rows = [
        row
        for row in services.store.mutes(kind)
        if query.state is None or row.state(now) == query.state
    ]
    return cut(rows, limit=query.limit, cursor=query.cursor)


def enter(
    services: CollectorParts,
    kind: MuteKind,
    body: NewMute,
    matchers: Iterable[RouteMatcher],
    *,
    by: TokenPrincipal,
    now: float,
) -> DeliveryMute:
    """Enter a mute in the journal. Raises ProblemError 422 for its time range, 503."""
    starts_at, ends_at = body.checked(now)
    mute = DeliveryMute(
        id="",
        kind=kind,
        matchers=tuple(matchers),
        starts_at=starts_at,
        ends_at=ends_at,
        author=body.author or by.name or "somebody",
        comment=body.comment,
        created_at=now,
    )
    identity, _ = entering.enter(services, kind, by=mute.author, detail=mutes.detail(mute))
    return replace(mute, id=identity)


def end(services: CollectorParts, kind: MuteKind, identity: str, *, by: TokenPrincipal) -> None:
    """Enter the end of a mute. Raises UnknownIdError where there is none of that id."""
    mute = services.store.find_mute(kind, identity)
    entering.enter(services, "unsilence", by=by.name or "somebody", detail={"mute": mute.id})
