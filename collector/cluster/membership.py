"""A collector's sign of life, and its part in sharing out the partitions.

About once a second it reads the document, says that it lives, takes what nobody live owns, and
writes the document back unless somebody else was quicker: then it begins again.
"""

import random
import threading
import time
from collections.abc import Callable, Mapping
from typing import Protocol

import structlog
from nats.aio.msg import Msg
from nats.js.errors import APIError, KeyNotFoundError

from ..health.defects import DefectLog
from ..health.health import CollectorHealth
from . import names
from .assignment import LivenessSigns, PartitionAssignment
from .connection import ERRORS, NatsConnection

_LOG = structlog.get_logger(__name__)
_KEY = "assignment"
_BEAT_SECONDS = 1.0
_TRIES = 12
_CALL_SECONDS = 4.0


class PartitionOwner(Protocol):
    """What takes partitions over and lets go of them."""

    def owns(self, leases: Mapping[int, int], leaving: set[int]) -> None:
        """Own exactly these partitions, by epoch, and begin to hand over those that leave."""
        ...

    def given(self, leaving: set[int]) -> set[int]:
        """Return those of the leaving partitions whose state is kept for the next owner."""
        ...


class ClusterMembership:
    """Owns the thread that shares out the partitions. `assignment` may be read from any thread."""

    def __init__(
        self,
        connection: NatsConnection,
        owner: PartitionOwner,
        *,
        name: str,
        address: Callable[[], str],
        partitions: int,
        lease_seconds: float,
        health: CollectorHealth,
    ) -> None:
        self._connection = connection
        self._owner = owner
        self._name = name
        self._address = address
        self._partitions = partitions
        self._signs = LivenessSigns(max(2, round(lease_seconds / _BEAT_SECONDS)))
        self._defects = DefectLog(health=health)
        self._stopping = False
        self._poked = threading.Event()
        self.assignment = PartitionAssignment()
        self._thread = threading.Thread(target=self._run, name="membership", daemon=True)

    def start(self) -> None:
        """Begin to take part."""
        self._connection.call(self._listen(), _CALL_SECONDS)
        self._thread.start()

    def stop(self) -> None:
        """Take part no more; partitions are still one's own until `leave`."""
        self._stopping = True
        self._poked.set()
        if self._thread.ident is not None:
            self._thread.join()

    def leave(self) -> None:
        """Give everything to the others; after `stop`, once all state is kept."""

        def left(found: PartitionAssignment) -> PartitionAssignment:
            members = {name: row for name, row in found.members.items() if name != self._name}
            mine = PartitionAssignment(members, found.leases)
            live = self._signs.live(mine, "") & members.keys()
            return mine.balanced(live, self._partitions, floor=_floor())

        try:
            self._change(left)
        except ERRORS as error:
            _LOG.warning("the partitions are taken when the lease ends", error=str(error))

    def _run(self) -> None:
        while not self._stopping:
            try:
                self.step()
            except ERRORS as error:
                _LOG.debug("the leases cannot be renewed", error=str(error))
            except Exception as error:  # noqa: BLE001  the thread must outlive any defect
                self._defects.met("membership", error)
            self._poked.wait(_BEAT_SECONDS * random.uniform(0.9, 1.1))  # noqa: S311  no secret
            if self._poked.is_set() and not self._stopping:
                time.sleep(0.02)  # pokes come in groups
                self._poked.clear()

    def step(self) -> None:
        """Give a sign, take what nobody owns, and follow what changed."""
        given = self._owner.given(self.assignment.leaving(self._name))

        def next_one(found: PartitionAssignment) -> PartitionAssignment:
            mine = found.beaten(self._name, self._address())
            mine = mine.handed(self._name, given & found.leaving(self._name), floor=_floor())
            live = self._signs.live(mine, self._name)
            return mine.balanced(live, self._partitions, floor=_floor())

        found = self._change(next_one)
        self._signs.given(found)
        self.assignment = found
        self._owner.owns(found.owned(self._name), found.leaving(self._name))

    def _change(
        self, change: Callable[[PartitionAssignment], PartitionAssignment]
    ) -> PartitionAssignment:
        """Read, change and write the document. Raises what `ERRORS` names."""
        for attempt in range(_TRIES):
            found, revision = self._connection.call(self._read(), _CALL_SECONDS)
            wanted = change(found)
            try:
                self._connection.call(self._write(wanted, revision), _CALL_SECONDS)
            except APIError:
                time.sleep(0.01 * random.uniform(0, attempt + 1))  # noqa: S311  no secret
                continue
            if wanted.leases != found.leases:
                self._connection.announce(names.POKE, {"by": self._name})
            return wanted
        raise TimeoutError("others change the leases all the time")

    async def _read(self) -> tuple[PartitionAssignment, int]:
        bucket = await self._connection.js.key_value(names.LEASES)
        try:
            entry = await bucket.get(_KEY)
        except KeyNotFoundError:
            return PartitionAssignment(), 0
        return PartitionAssignment.unpack(entry.value or b"{}"), int(entry.revision or 0)

    async def _write(self, wanted: PartitionAssignment, revision: int) -> None:
        bucket = await self._connection.js.key_value(names.LEASES)
        await bucket.update(_KEY, wanted.pack(), last=revision)

    async def _listen(self) -> None:
        async def received(_message: Msg) -> None:
            self._poked.set()

        await self._connection.client.subscribe(names.POKE, cb=received)


def _floor() -> int:
    """Return an epoch that is higher than any before, even if NATS has lost all it held."""
    return int(time.time() * 1000)
