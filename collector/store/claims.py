"""Which collector delivers to which endpoint, where several share a database.

A collector claims an endpoint before each message to it and gives it back when nothing is due. A
claim ends by itself after LEASE_SECONDS: what a dead collector had under way is sent again by
another, under the same webhook-id. So one message is under way for an endpoint at a time, whoever
sends it. Time is the database's, so that collectors' clocks may differ as they like.
"""

from sqlalchemy import Connection, Double, cast, extract, func, select, update
from sqlalchemy.dialects.postgresql import insert

from .tables import claims

LEASE_SECONDS = 60.0
"""Longer than an attempt may take, and what comes before and after it."""


_NOW = cast(extract("epoch", func.clock_timestamp()), Double)


def take(db: Connection, endpoint: str, *, owner: str) -> bool:
    """Claim an endpoint, or renew the claim; return False where another collector has it.

    Never waits: a row that another collector looks at right now is as good as claimed.
    """
    mine = claims.c.endpoint == endpoint
    if db.execute(select(claims.c.endpoint).where(mine)).first() is None:
        free = {"endpoint": endpoint, "owner": "", "until": 0.0}
        db.execute(insert(claims).values(free).on_conflict_do_nothing())
    wanted = select(claims.c.owner, claims.c.until > _NOW).where(mine)
    row = db.execute(wanted.with_for_update(skip_locked=True)).one_or_none()
    if row is None:
        return False
    holder, holds = row
    if holder != owner and holds:
        return False
    db.execute(update(claims).where(mine).values(owner=owner, until=_NOW + LEASE_SECONDS))
    return True


def give_back(db: Connection, endpoint: str, *, owner: str) -> None:
    """End a claim: the next message may be anybody's."""
    mine = (claims.c.endpoint == endpoint) & (claims.c.owner == owner)
    db.execute(update(claims).where(mine).values(until=0.0))
