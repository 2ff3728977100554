"""Results of active checks, a transaction each: kept, compared with, and looked at."""

from collections.abc import Sequence

from . import check_requests, check_rows
from .check_requests import CheckRequestRecord
from .check_rows import CheckFilter, CheckRecord, NumberedCheck
from .parts import StorePart


class CheckStore(StorePart):
    """What hosts measured of themselves."""

    def keep_checks(self, records: Sequence[CheckRecord]) -> None:
        """Keep results, and of each check of each device the newest alone."""
        with self._database.write() as db:
            check_rows.keep(db, records)

    def check_values(
        self, check: str, *, kind: str, place: str, but: str, now: float
    ) -> list[float]:
        """Return what hosts other than `but` measure of a kind in a place, one value each."""
        with self._database.read() as db:
            return check_rows.values(db, check, kind=kind, place=place, but=but, now=now)

    def checks(
        self, wanted: CheckFilter, *, limit: int, before: int | None = None
    ) -> list[NumberedCheck]:
        """Return results, the newest first."""
        with self._database.read() as db:
            return check_rows.every(db, wanted, limit=limit, before=before)

    def newest_checks(self, *, since: float, limit: int) -> list[NumberedCheck]:
        """Return the newest result of each check of each device, those that did not pass first."""
        with self._database.read() as db:
            return check_rows.newest(db, since=since, limit=limit)

    def ask_check(self, record: CheckRequestRecord) -> CheckRequestRecord:
        """Ask an agent for a check; return what is asked already, where it is the same."""
        with self._database.write() as db:
            return check_requests.add(db, record)

    def wanted_checks(self, host: str, now: float) -> list[CheckRequestRecord]:
        """Return what is asked of the agent of a host; it is told once."""
        with self._database.read() as db:
            if not check_requests.waiting(db, host, now):
                return []
        with self._database.write() as db:
            return check_requests.wanted(db, host, now)

    def fail_check(self, identity: str, text: str) -> bool:
        """Note why a check that was asked for gives no result; return whether it was."""
        with self._database.write() as db:
            return check_requests.fail(db, identity, text)

    def check_requests(self, incident: str) -> Sequence[CheckRequestRecord]:
        """Return what was asked for an incident, the newest first."""
        with self._database.read() as db:
            return check_requests.of_incident(db, incident)
