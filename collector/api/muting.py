"""What the routes of silences and of maintenance windows share: listing, entering and ending."""

from collections.abc import Iterable
from dataclasses import replace

from ...alerts.notify.routing import Matcher
from ..store import mutes
from ..store.mutes import Mute, MuteKind
from . import entering
from .auth import Principal
from .pages import cut
from .services import Services
from .time_ranges import Line, MutesQuery, TimeRange


class NewMute(TimeRange):
    """A time range, and who asks for it why."""

    author: Line = ""
    comment: Line = ""


def listed(
    services: Services, kind: MuteKind, query: MutesQuery, now: float
) -> tuple[list[Mute], str | None]:
    """Return a page of the mutes of a kind, and the cursor of the next one."""
    rows = [
        row
        for row in services.store.mutes(kind)
        if query.state is None or row.state(now) == query.state
    ]
    return cut(rows, limit=query.limit, cursor=query.cursor)


def enter(
    services: Services,
    kind: MuteKind,
    body: NewMute,
    matchers: Iterable[Matcher],
    *,
    by: Principal,
    now: float,
) -> Mute:
    """Enter a mute in the journal. Raises ProblemError 422 for its time range, 503."""
    starts_at, ends_at = body.checked(now)
    mute = Mute(
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


def end(services: Services, kind: MuteKind, identity: str, *, by: Principal) -> None:
    """Enter the end of a mute. Raises UnknownIdError where there is none of that id."""
    mute = services.store.find_mute(kind, identity)
    entering.enter(services, "unsilence", by=by.name or "somebody", detail={"mute": mute.id})
