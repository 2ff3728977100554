"""The ledger of a job's single collectives: by group, kind and number, what each member saw of it.

Whoever reports them. All members of a synchronising collective leave it together, so what their
hosts' clocks show then tells how far these are apart; the last to come has the shortest duration.
"""

import statistics
from dataclasses import dataclass

from ...vocabulary import operations
from ...vocabulary.answers.clock_offsets import ClockOffsetDocument
from ...vocabulary.samples import Event

KEPT, FEWEST = 32, 4
"""Numbers of a group and kind that are held, at most and at least."""

MOST_ENTRIES = 200_000
"""Entries of one attempt; where it has many ranks fewer numbers are held."""

MOST_KINDS = 256
_MOST_NAME = 128

SYNCHRONISING = ("all_reduce", "allreduce", "all_gather", "allgather", "reduce_scatter",
                 "reducescatter", "all_to_all", "alltoall", "barrier")  # fmt: skip
"""How the names of kinds begin in which every member waits for every other."""

_POLLED_SECONDS, _STAMPED_SECONDS = 0.1, 0.001
"""How exact an end is: Flight Recorder looks ten times a second, Inspector notes it."""

_SPREAD = 1.4826
"""From a median deviation to a standard one."""


def synchronises(op: str) -> bool:
    """Tell whether a kind of collective lets nobody go before all have come."""
    return op.lower().lstrip("_").startswith(SYNCHRONISING)


@dataclass(frozen=True, slots=True)
class ObservedOperation:
    """What one member saw of one collective; times as its host's clock shows them."""

    host: str
    source: str
    size: int | None
    enqueued_at: float | None
    completed_at: float | None
    seconds: float | None


Number = dict[int, ObservedOperation]
"""One collective: by rank."""


class OperationWindow:
    """The newest collectives of one attempt, bounded. `malformed` counts events without any."""

    def __init__(self) -> None:
        self.malformed = 0
        self._kinds: dict[tuple[str, str], dict[int, Number]] = {}

    def take(self, event: Event) -> None:
        """Take an event `collective.operations`."""
        rank, group = event.attributes.get("rank"), event.attributes.get("group")
        source = str(event.attributes.get("source", ""))[:_MOST_NAME]
        if not isinstance(rank, int) or isinstance(rank, bool) or not isinstance(group, str):
            self.malformed += 1
            return
        try:
            found = operations.decode(str(event.attributes.get("text", "")))
        except ValueError:
            self.malformed += 1
            return
        for one in found:
            entry = ObservedOperation(
                event.resource.host, source, one.size, one.enqueued_at, one.completed_at,
                one.seconds,
            )  # fmt: skip
            self._add(group[:_MOST_NAME], one.op, one.sequence, rank, entry)

    def _add(self, group: str, op: str, sequence: int, rank: int, entry: ObservedOperation) -> None:
        kind = (group, op)
        held = self._kinds.get(kind)
        if held is None:
            while len(self._kinds) >= MOST_KINDS:
                del self._kinds[next(iter(self._kinds))]
            held = self._kinds[kind] = {}
        number = held.get(sequence)
        if number is None:
            if len(held) >= FEWEST and sequence < next(iter(held)):
                return  # older than what is held
            newest = next(reversed(held), -1)
            number = held[sequence] = {}
            if sequence < newest:
                self._kinds[kind] = held = dict(sorted(held.items()))
        number[rank] = entry
        room = MOST_ENTRIES // (len(self._kinds) * max(len(number), 1))
        while len(held) > min(KEPT, max(room, FEWEST)):
            del held[next(iter(held))]

    def numbers(self, group: str | None = None) -> list[tuple[str, str, int, Number]]:
        """Return (group, kind, number, members), the newest numbers of each kind first."""
        return [
            (name, op, sequence, dict(number))
            for (name, op), held in sorted(self._kinds.items())
            if group is None or name == group
            for sequence, number in reversed(held.items())
        ]

    def lateness(self) -> dict[tuple[str, str, int], float]:
        """Return by (group, kind, rank) how long others waited for it, the median in seconds."""
        found: dict[tuple[str, str, int], list[float]] = {}
        for (group, op), held in self._kinds.items():
            if not synchronises(op):
                continue
            for number in held.values():
                for rank, seconds in late(number).items():
                    found.setdefault((group, op, rank), []).append(seconds)
        return {key: statistics.median(values) for key, values in found.items()}

    def clock_offsets(self) -> list[ClockOffsetDocument]:
        """Return how far the clocks of hosts are apart, by host; none where one alone reports."""
        seen: dict[str, list[float]] = {}
        exact: dict[str, float] = {}
        for (_, op), held in self._kinds.items():
            if not synchronises(op):
                continue
            for number in held.values():
                ends: dict[str, float] = {}
                for entry in number.values():
                    if entry.completed_at is not None and entry.host:
                        polled = entry.source == "flight_recorder"
                        resolution = _POLLED_SECONDS if polled else _STAMPED_SECONDS
                        exact[entry.host] = max(exact.get(entry.host, 0.0), resolution)
                        ends[entry.host] = max(ends.get(entry.host, 0.0), entry.completed_at)
                if len(ends) > 1:
                    middle = statistics.median(ends.values())
                    for host, at in ends.items():
                        seen.setdefault(host, []).append(at - middle)
        found: list[ClockOffsetDocument] = []
        for host, offsets in sorted(seen.items()):
            middle = statistics.median(offsets)
            spread = _SPREAD * statistics.median(abs(one - middle) for one in offsets)
            found.append(
                ClockOffsetDocument(
                    host=host,
                    seconds=middle,
                    uncertainty_seconds=max(spread, exact[host]),
                    collectives=len(offsets),
                )
            )
        return found


def late(number: Number) -> dict[int, float]:
    """Return by rank how long the others waited for it in one collective, in seconds."""
    seconds = {rank: one.seconds for rank, one in number.items() if one.seconds is not None}
    if len(seconds) < 2:
        return {}
    longest = max(seconds.values())
    return {rank: longest - own for rank, own in seconds.items()}
