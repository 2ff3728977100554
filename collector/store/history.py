"""Changes in their order, for streams that resume, and what each incident's first cause names."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection, delete, insert, select, update

from . import incidents
from .incidents import RecordedChange
from .tables_history import changes, roots

MOST_CHANGES = 1000
"""Changes whose order is kept: a stream resumes after any of them."""


def numbered(db: Connection, news: Sequence[RecordedChange], now: float) -> list[RecordedChange]:
    """Write down the order of new changes and their roots; return them with their numbers."""
    if not news:
        return []
    last = newest(db)
    found: list[RecordedChange] = []
    for row in news:
        last = max(last + 1, int(now * 1000))
        found.append(replace(row, number=last))
        _keep_root(db, row)
    rows = [
        {"number": row.number, "at": row.at, "kind": row.kind, "incident": row.document["id"]}
        for row in found
    ]
    db.execute(insert(changes), rows)
    oldest = select(changes.c.number).order_by(changes.c.number.desc()).offset(MOST_CHANGES)
    over = db.execute(oldest.limit(1)).scalar()
    if over is not None:
        db.execute(delete(changes).where(changes.c.number <= over))
    return found


def newest(db: Connection) -> int:
    """Return the number of the newest change, 0 where there is none."""
    query = select(changes.c.number).order_by(changes.c.number.desc()).limit(1)
    return int(db.execute(query).scalar() or 0)


def after(db: Connection, number: int) -> list[RecordedChange] | None:
    """Return the changes after one, in order; None where that one is not kept any more.

    Each has its incident's document as it is now. Of several changes of one kind of an incident
    the last is returned.
    """
    rows = db.execute(
        select(changes).where(changes.c.number >= number).order_by(changes.c.number)
    ).all()
    if not rows or rows[0].number != number:
        return None
    last = {(row.incident, row.kind): row.number for row in rows[1:]}
    found: list[RecordedChange] = []
    for row in rows[1:]:
        if last[row.incident, row.kind] != row.number:
            continue
        document = incidents.find(db, row.incident)
        if document is not None:
            found.append(
                RecordedChange(row.kind, row.at, document, notify=False, key="", number=row.number)
            )
    return found


def _keep_root(db: Connection, row: RecordedChange) -> None:
    causes = row.document["root_cause"]["hypotheses"]
    mine = roots.c.incident == row.document["id"]
    if not causes:
        db.execute(delete(roots).where(mine))
        return
    entity = causes[0]["entity"]
    values = {"entity_type": entity["type"], "entity": entity["id"], "host": entity["host"]}
    if db.execute(select(roots.c.incident).where(mine)).first() is None:
        db.execute(insert(roots).values(incident=row.document["id"], **values))
    else:
        db.execute(update(roots).where(mine).values(**values))
