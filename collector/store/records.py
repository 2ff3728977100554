"""What happened: people's actions, numbered changes, what jobs used and what incidents cost."""

from collections.abc import Sequence

from . import audit, check_requests, check_rows, costs, history, launcher_orders, usage
from .audit import AuditFilter, AuditRow
from .costs import IncidentCosts
from .incidents import RecordedChange
from .parts import StorePart
from .usage import AttemptUsage


class RecordStore(StorePart):
    """The audit trail, the feed of changes, usage and costs, a transaction each."""

    def audit(self, done: AuditRow) -> None:
        """Keep what a person did that is no entry of the journal."""
        with self._database.write() as db:
            audit.add(db, done)

    def audited(
        self, wanted: AuditFilter, *, limit: int = 50, before: int | None = None
    ) -> list[AuditRow]:
        """Return what people did, the newest first, numbered below `before`."""
        with self._database.read() as db:
            return audit.page(db, wanted, limit=limit, before=before)

    def newest_change(self) -> int:
        """Return the number of the newest change of an incident, 0 where there is none."""
        with self._database.read() as db:
            return history.newest(db)

    def changes_after(self, number: int) -> list[RecordedChange] | None:
        """Return the changes after one, None where that one is not kept any more."""
        with self._database.read() as db:
            return history.after(db, number)

    def use(self, rows: Sequence[AttemptUsage]) -> None:
        """Keep from when to when jobs ran."""
        with self._database.write() as db:
            usage.keep(db, rows)

    def usage(self) -> list[AttemptUsage]:
        """Return from when to when jobs ran, week by week."""
        with self._database.read() as db:
            return usage.every(db)

    def trim_history(self, *, before: float) -> int:
        """Delete what people did and jobs used before that; return how many rows."""
        with self._database.write() as db:
            return (
                audit.trim(db, before=before)
                + usage.trim(db, before=before)
                + check_rows.trim(db, before=before)
                + check_requests.trim(db, before=before)
                + launcher_orders.trim(db, before=before)
            )

    def costs(self) -> list[IncidentCosts]:
        """Return what every incident took and cost, for statistics."""
        with self._database.read() as db:
            return costs.every(db)
