"""`python -m rankscope.collector.store.copying FROM TO`: a store's content into an empty other one.

For the move from SQLite to PostgreSQL, while no collector uses either.
"""

import argparse
import sys

from sqlalchemy import Integer, func, insert, select, text

from .database import IncidentDatabase
from .dialects import POSTGRESQL
from .errors import UnusableError
from .tables import incidents, metadata

_ROWS = 500


def copy(source: str, target: str) -> dict[str, int]:
    """Copy every table; return how many rows each has.

    Raises UnusableError where one cannot be used, or the target has incidents already.
    """
    first = IncidentDatabase(source)
    try:
        second = IncidentDatabase(target)
        try:
            return _copied(first, second)
        finally:
            second.close()
    finally:
        first.close()


def _copied(first: IncidentDatabase, second: IncidentDatabase) -> dict[str, int]:
    counts: dict[str, int] = {}
    with first.read() as reading, second.write() as writing:
        if writing.execute(select(func.count()).select_from(incidents)).scalar_one():
            raise UnusableError("the target has incidents already")
        for table in reversed(metadata.sorted_tables):
            writing.execute(table.delete())  # settings' webhooks, made at a first start
        for table in metadata.sorted_tables:
            rows = [dict(row) for row in reading.execute(select(table)).mappings()]
            for start in range(0, len(rows), _ROWS):
                writing.execute(insert(table), rows[start : start + _ROWS])
            counts[table.name] = len(rows)
            key = table.primary_key.columns.values()[0]
            counted = len(table.primary_key.columns) == 1 and isinstance(key.type, Integer)
            if rows and counted and key.autoincrement is True and second.shared:
                writing.execute(
                    text(
                        f"SELECT setval(pg_get_serial_sequence('{table.name}', '{key.name}'), "  # noqa: S608  names of ours
                        f"(SELECT max({key.name}) FROM {table.name}))"
                    )
                )
    return counts


def main() -> int:
    """Copy as the arguments say; 0 when it is done."""
    parser = argparse.ArgumentParser(
        prog="python -m rankscope.collector.store.copying", description=__doc__
    )
    parser.add_argument("source", help="such as sqlite:////var/lib/rankscope/rankscope.db")
    parser.add_argument("target", help=f"such as {POSTGRESQL}://rankscope@db.example/rankscope")
    wanted = parser.parse_args()
    try:
        counts = copy(wanted.source, wanted.target)
    except UnusableError as error:
        print(f"not copied: {error}", file=sys.stderr)  # noqa: T201
        return 1
    for name, count in counts.items():
        print(f"{name}: {count} rows")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
