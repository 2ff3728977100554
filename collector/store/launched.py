"""What agents are asked to do to ranks that torchrun started, a transaction each."""

from collections.abc import Sequence

from . import launcher_orders
from .launcher_orders import LauncherOrderRecord
from .parts import StorePart


class LauncherStore(StorePart):
    """Orders to the hosts of jobs, and their answers."""

    def ask_launchers(self, records: Sequence[LauncherOrderRecord]) -> None:
        """Ask hosts for what was not asked of them yet, all at once."""
        with self._database.write() as db:
            launcher_orders.add(db, records)

    def wanted_of_launchers(self, host: str, now: float) -> list[LauncherOrderRecord]:
        """Return what is asked of a host's agent: again, until it answers."""
        with self._database.read() as db:
            found = launcher_orders.waiting(db, host, now)
        if any(record.taken_at is None for record in found):
            with self._database.write() as db:
                launcher_orders.tell(db, found, now)
        return found

    def launcher_answered(self, action: str, host: str, given: str, text: str) -> bool:
        """Keep what an agent answered, once; return whether it was asked."""
        with self._database.write() as db:
            return launcher_orders.answer(db, action, host, given, text)

    def launcher_orders(self, action: str) -> Sequence[LauncherOrderRecord]:
        """Return what was asked of hosts for an action."""
        with self._database.read() as db:
            return launcher_orders.of_action(db, action)
