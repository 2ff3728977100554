"""Hosts whose processes were ended from outside, as far as their exits and their memory show."""

from collections.abc import Sequence

from ...vocabulary.findings import Finding
from ...vocabulary.samples import Event
from .. import drawn_on
from ..contract import Detector
from ..findings import report
from ..window import JobWindow
from . import stops
from .stops import code_of, rank_of

USAGE, LIMIT = "system.memory.usage", "system.memory.limit"


class EndedHostsDetector(Detector):
    """Say what ended the ranks of a host where nobody reports it: a wish, or a lack of memory.

    A process that fails ends by itself, and its launcher ends the others after it. Where every rank
    of one host ends by SIGTERM within `together`, before any rank ends otherwise, somebody outside
    the job ended that host's processes: an eviction, a drain, an operator; by SIGKILL as well,
    where the memory of the host was not used up, and less surely where it is unknown: the kernel
    may kill a whole control group at once. Clocks of hosts differ: an end on another host that
    seems up to `clocks` earlier is a later one if its log says that a peer was gone. Where the
    first rank to end was killed (SIGKILL) and the memory of its host, carried on at the rate of its
    last readings, was used up by then, the kernel lacked memory. Evidence only.

    Parameters
    ----------
    together : seconds within which all ranks of the host end.
    clocks : seconds by which the clocks of hosts may differ.
    full : share of the memory that counts as used up, by the reading before the kill carried on.
    risen : share of the memory by which it must have risen before the kill.
    past : seconds before the kill that are looked at.

    Examples
    --------
    Both ranks of host-1 end by SIGTERM, those of host-0 because their peers are gone.

    >>> import numpy as np
    >>> from rankscope.detectors.sketch import START, sketch
    >>> events = [Event("process.exit", START + 60 + rank / 10, {"rank": rank, "signal": 15})
    ...           for rank in (2, 3)]
    >>> events += [Event("process.exit", START + 61, {"rank": 0, "exit_code": 1})]
    >>> window = sketch(np.full((4, 60), 0.8), now=START + 70, events=events)
    >>> [(found.kind, str(found.entity)) for found in EndedHostsDetector().evaluate(window)]
    [('host.ranks_terminated', 'host host-1')]

    Cannot see who sent a signal, nor tell an eviction that kills at once from other kills.

    Fails where a host runs one rank of the job, unless all others say that a peer was gone: one
    SIGTERM may be anything.

    References: Kubernetes, pod termination; Linux Documentation/admin-guide/mm (OOM killer).
    """

    name = "ended_hosts"
    kinds = ("host.ranks_terminated", "host.memory_at_kill")

    def __init__(
        self,
        *,
        together: float = 2.0,
        clocks: float = 1.5,
        full: float = 0.9,
        risen: float = 0.1,
        past: float = 300.0,
    ) -> None:
        self.together = together
        self.clocks = clocks
        self.full = full
        self.risen = risen
        self.past = past

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding, about the host whose ranks ended first."""
        exits = [event for event in stops.exits_of(window) if code_of(event) != 0]
        if not exits:
            return []
        killed = next(
            (event for event in exits
             if event.at <= exits[0].at + stops.POLLED_SECONDS
             and code_of(event) == -stops.SIGKILL),
            None,
        )  # fmt: skip
        reached = None if killed is None else self._reached(window, killed)
        if killed is not None and reached is not None and reached[-1] >= self.full:
            risen = reached[-1] - min(reached) >= self.risen
            return self._memory(window, killed, reached) if risen else []
        for host in dict.fromkeys(self._host_of(window, event) for event in exits):
            if host >= 0 and (found := self._terminated(window, host, exits, reached)):
                return found
        return []

    def _terminated(
        self, window: JobWindow, host: int, exits: Sequence[Event], reached: Sequence[float] | None
    ) -> list[Finding]:
        ranks = set(window.ranks[window.host_of == host].tolist())
        here = [event for event in exits if rank_of(event) in ranks]
        others = [event for event in exits if rank_of(event) not in ranks]
        if len(here) < len(ranks) or not others:
            return []
        signal = code_of(here[0])
        if len(ranks) < 2 and (signal != -stops.SIGTERM or not self._followed(window, others)):
            return []
        if signal not in (-stops.SIGTERM, -stops.SIGKILL):
            return []
        if any(code_of(event) != signal for event in here):
            return []
        if here[-1].at - here[0].at > self.together or not self._first(window, here[0].at, others):
            return []
        if all(stops.is_stop(event) for event in others):
            return []  # the whole job was stopped
        entity = window.host_entity(host)
        return [
            report(
                window,
                self.name,
                "host.ranks_terminated",
                entity,
                onset=here[0].at,
                seen=(here[0].at, exits[-1].at),
                magnitude=float(len(here)),
                score=3.0
                if len(ranks) > 1 and (reached is not None or signal == -stops.SIGTERM)
                else 1.5,
                signal="process.exit",
                observed=f"signal {-signal}",
                expected="no signal",
                text=f"all {len(here)} ranks of host {entity.id} were ended by signal "
                f"{-signal} before any other rank ended",
            )
        ]

    def _first(self, window: JobWindow, at: float, others: Sequence[Event]) -> bool:
        """Tell whether no other rank ended before `at`, as far as clocks and logs can tell."""
        before = [event for event in others if event.at < at]
        if not before:
            return True
        if before[0].at < at - self.clocks:
            return False
        return self._followed(window, before)

    def _followed(self, window: JobWindow, ends: Sequence[Event]) -> bool:
        """Tell whether the logs of all these ranks say that they ended because a peer was gone."""
        roles = {
            (rank_of(event), event.attributes.get("role")) for event in window.named("log.fault")
        }
        return all(
            (rank_of(event), "cascade") in roles and (rank_of(event), "root") not in roles
            for event in ends
        )

    def _host_of(self, window: JobWindow, event: Event) -> int:
        return window.host_of_rank(rank_of(event) or 0)

    def _reached(self, window: JobWindow, killed: Event) -> tuple[float, ...] | None:
        """Return the shares of the memory used before a kill, then that at it; None: unknown."""
        host, limit = self._host_of(window, killed), window.of_hosts(LIMIT).latest()[0]
        return drawn_on.shares(window.of_hosts(USAGE), limit, host, killed.at, self.past)

    def _memory(self, window: JobWindow, killed: Event, reached: Sequence[float]) -> list[Finding]:
        entity = window.host_entity(self._host_of(window, killed))
        return [
            report(
                window,
                self.name,
                "host.memory_at_kill",
                entity,
                onset=killed.at,
                seen=(killed.at - self.past, killed.at),
                magnitude=reached[-1],
                signal=USAGE,
                observed=reached[-1],
                expected=min(reached),
                text=f"memory of host {entity.id} rose from {min(reached):.0%} to "
                f"{min(reached[-1], 1.0):.0%} until rank {rank_of(killed)} was killed",
            )
        ]
