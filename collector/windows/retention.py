"""What windows let go of: old attempts and hosts, and attempts and events that are too many."""

import heapq
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ...formats.otlp.columns import SeriesTable
from ...vocabulary.ids import Job
from .attempt import JobAttempt
from .attempts import AttemptRegister
from .event_history import EventHistory
from .exporter_faults import ExporterFaults
from .hosts import HostNumbers
from .placing import SeriesPlacer
from .writing import PointWriter

FORGET_SECONDS = 12 * 3600.0
BRIEF_SILENCE_SECONDS = 240.0
MOST_BRIEF = 500
"""Of attempts that were heard of for a moment alone, so many stay for half a day like others: a
sender that names thousands leaves no more behind, and a job that reports rarely is not lost."""
ROOM_SHARE = 8
"""Where events have to go, one part in so many is made free at once."""


class WindowRetention:
    """Decides what of the windows goes, and takes it out of all that refers to it.

    Points that wait to be written are written before an attempt goes.
    """

    def __init__(
        self,
        *,
        table: SeriesTable,
        hosts: HostNumbers,
        attempts: AttemptRegister,
        placing: SeriesPlacer,
        faults: ExporterFaults,
        writing: PointWriter,
    ) -> None:
        self.expired = 0
        """How many series were let go of."""
        self._table = table
        self._hosts = hosts
        self._attempts = attempts
        self._placing = placing
        self._faults = faults
        self._writing = writing
        self._event_bytes = 0
        """Of all events that are held, and of attempts and hosts that went since it was counted."""

    def thin_out(self) -> None:
        """Let the older attempts go of jobs that have many, before anything more is taken."""
        for job in sorted(self._attempts.crowded):
            self._writing.flush()
            self._release(self._removed(self._attempts.older(job)))

    def took(self, count: int) -> None:
        """Count bytes of events that are held since; see `let_events_go`."""
        self._event_bytes += count

    def let_events_go(self) -> None:
        """Where all events together are too many, let go of those of whoever has most."""
        most = self._attempts.bounds.events
        if self._event_bytes <= most:
            return
        held: list[tuple[str, EventHistory]] = [
            (one.job, one.events) for one in self._attempts.by_key.values()
        ]
        attempts = len(held)
        held += self._hosts.events.items()
        self._event_bytes = sum(events.bytes for _, events in held)
        if self._event_bytes <= most:
            return
        largest = [(-events.bytes, place) for place, (_, events) in enumerate(held)]
        heapq.heapify(largest)
        while self._event_bytes > most - most // ROOM_SHARE and largest:
            before, place = heapq.heappop(largest)
            of, events = held[place]
            if gone := events.shrink(-before // 2):
                self._attempts.notes.add("event_bytes", of, gone)
                self._event_bytes += before + events.bytes
                heapq.heappush(largest, (-events.bytes, place))
                if place >= attempts:
                    self._hosts.changed(of)

    def forget(self, now: float, watched: Callable[[Job], bool]) -> None:
        """Drop attempts that were silent for long, all but the newest few of a job, and hosts.

        Of those of jobs that were hardly heard of, and that nobody has `watched`, few stay.
        """
        self._writing.flush()
        attempts = self._attempts.by_key
        older = {
            (one.job, one.number)
            for job in {job for job, _ in attempts}
            for one in self._attempts.older(job)
        }
        older.update((one.job, one.number) for one in self._brief(now, watched))
        released = self._removed(
            [
                attempt
                for key, attempt in attempts.items()
                if key in older or now - attempt.last_received >= FORGET_SECONDS
            ]
        )
        released = np.concatenate((released, self._placing.forget_left_out()))
        silent = self._hosts.silent(now - FORGET_SECONDS)
        released = np.concatenate((released, self._placing.forget_hosts(silent)))
        for number in silent.tolist():
            self._hosts.events.pop(self._hosts.names[number], None)
        self._release(released)
        if self._hosts.scarce:
            self._reuse(silent.tolist())

    def renew(self, attempt: JobAttempt) -> None:
        """Let an attempt begin anew; its series are placed again when they next report."""
        self._writing.flush()
        self._attempts.renew(attempt)
        self._placing.forget([attempt.number_in_windows])

    def _brief(self, now: float, watched: Callable[[Job], bool]) -> list[JobAttempt]:
        """Return attempts heard of for a moment alone and silent since, all but the newest."""
        silent = [
            one
            for one in self._attempts.by_key.values()
            if one.is_brief and now - one.last_received >= BRIEF_SILENCE_SECONDS
        ]
        if len(silent) <= MOST_BRIEF:
            return []
        silent = [one for one in silent if not watched(one.job)]
        silent.sort(key=lambda one: one.last_received)
        return silent[: max(0, len(silent) - MOST_BRIEF)]

    def _reuse(self, silent: Iterable[int]) -> None:
        """Let the numbers go of silent hosts that nothing refers to."""
        kept = self._placing.hosts_of_devices()
        for attempt in self._attempts.by_key.values():
            kept |= attempt.heard
            kept.update(attempt.placements.hosts[: len(attempt.placements)].tolist())
            kept.update(attempt.nodes.of_host)
        for number in silent:
            if number not in kept and self._hosts.names[number]:
                self._hosts.release(number)

    def _removed(self, gone: Sequence[JobAttempt]) -> NDArray[np.int32]:
        """Remove attempts; return their series."""
        for attempt in gone:
            self._attempts.remove(attempt)
        return self._placing.forget([attempt.number_in_windows for attempt in gone])

    def _release(self, series: NDArray[np.int32]) -> None:
        """Let go of series that nobody reports any more."""
        self._faults.forget(series)
        self.expired += len(series)
        self._table.release(series)
