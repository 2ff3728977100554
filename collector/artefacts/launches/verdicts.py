"""What follows from the reports of launchers: who ended when, which lines are of the cause."""

from dataclasses import dataclass, field

from ....vocabulary.samples import Event, Scalar
from .places import LaunchPlaces
from .record import FiledReport


@dataclass(slots=True)
class LaunchVerdict:
    """Events by rank and host, the lines of the cause and the rank of each, what is missing."""

    places: LaunchPlaces
    events: list[tuple[int | None, str, Event]] = field(
        default_factory=list[tuple[int | None, str, Event]]
    )
    roots: dict[tuple[str, int], int | None] = field(
        default_factory=dict[tuple[str, int], int | None]
    )
    missing: list[str] = field(default_factory=list[str])
    guesses: set[int] = field(default_factory=set[int])
    """Ranks that a launcher names where it may mean any of its own."""
    raised: int | None = None
    """The rank that an exception without a rank is taken for."""

    def blame(
        self, one: FiledReport, event: str, host: str, rank: int | None = None, **pairs: Scalar
    ) -> None:
        """Take the line of a report for one of the cause; an event of this name says so."""
        if rank is not None:
            pairs["rank"] = rank
        pairs["text"] = one.report.text
        self.events.append((rank, host, Event(event, self.places.at(one), pairs)))
        self.roots[one.place] = rank

    def end(self, rank: int, code: int | None, at: float) -> None:
        """Add the end of a rank, by a code that is negative for a signal, None for nothing said."""
        pairs: dict[str, Scalar] = {"rank": rank}
        if code is not None:
            pairs |= {"signal": -code} if code < 0 else {"exit_code": code}
        host = self.places.host_of(rank)
        self.events.append((rank, host, Event("process.exit", at, pairs)))
