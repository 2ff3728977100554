"""A stretch of the shared log as a journal's folder, for what reads files: recordings, the past.

Any collector makes one, of the partitions of the jobs that are asked about: whoever owns them is
not asked.
"""

import hashlib
import heapq
import itertools
import tempfile
from collections.abc import Collection, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from ..history.journal_reader import JournalRangeError
from ..journal.entries import JournalEntry
from ..journal.journal import FileJournal
from ..journal.kinds import PayloadKind
from ..settings.journal import JournalSettings
from . import names
from .connection import ERRORS, NatsConnection
from .partition_log import PartitionLog

_GROUP = 256
_MOST_BYTES = 8 << 30
"""Of one excerpt, uncompressed."""
_SECOND_NS = 1_000_000_000
_LEFT_OUT = frozenset((PayloadKind.TIME, PayloadKind.SHARED, PayloadKind.STOP))


class HeldInLog:
    """The partitions of the shared log. Excerpts are written below a folder, and removed."""

    def __init__(self, connection: NatsConnection, partitions: int, folder: Path) -> None:
        self._connection = connection
        self._partitions = partitions
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def since(self, job: str) -> float | None:
        """Return when JetStream took the oldest entry of a job's partition.

        Raises JournalRangeError.
        """
        try:
            found = self._log(names.of_job(job, self._partitions)).first_at_ns()
        except ERRORS as error:
            raise JournalRangeError(f"the log in NATS cannot be read: {error}") from error
        return None if found is None else found / _SECOND_NS

    @contextmanager
    def between(self, jobs: Collection[str], start: float, end: float) -> Generator[Path]:
        """Return a folder with what the partitions of these jobs hold. Raises JournalRangeError."""
        with tempfile.TemporaryDirectory(dir=self._folder, prefix="excerpt-") as made:
            folder = Path(made)
            numbers = sorted({names.of_job(job, self._partitions) for job in jobs})
            between = max(0, int(start * _SECOND_NS)), int(end * _SECOND_NS)
            try:
                self._write(folder, [self._log(number).range(*between) for number in numbers])
            except ERRORS as error:
                raise JournalRangeError(f"the log in NATS cannot be read: {error}") from error
            yield folder

    def _write(self, folder: Path, parts: list[Iterator[JournalEntry]]) -> None:
        journal = FileJournal(folder, JournalSettings())
        entries = _once(heapq.merge(*parts, key=lambda entry: entry.at_ns), several=len(parts) > 1)
        left = _MOST_BYTES
        try:
            while group := list(itertools.islice(entries, _GROUP)):
                left -= sum(len(entry.body) for entry in group)
                if left < 0:
                    raise JournalRangeError(
                        "it is too much to be read at once: ask for a shorter range"
                    )
                failure = journal.write(group).failure
                if failure is not None:
                    raise JournalRangeError(f"{self._folder}: {failure}") from failure
        finally:
            journal.close()

    def _log(self, number: int) -> PartitionLog:
        return PartitionLog(self._connection, number)


def _once(entries: Iterator[JournalEntry], *, several: bool) -> Iterator[JournalEntry]:
    """Yield telemetry; what a host sent about itself is in the partition of each of its jobs."""
    seen: set[bytes] = set()
    for entry in entries:
        if entry.kind in _LEFT_OUT:
            continue
        if several:
            digest = hashlib.blake2b(entry.body, digest_size=16).digest()
            if digest in seen:
                continue
            seen.add(digest)
        yield entry
