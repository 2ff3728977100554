"""The checks of this node, one after the other: beside whom, with whom, for how long at most."""

import contextlib
import socket
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from ..vocabulary.checks import ActiveCheck, runnable
from . import children, judging, peer_values, peers
from .jobs import TrainerFinder
from .judging import ComparedValues, FleetValues, JudgedCheck
from .measurements.rows import CheckOrder, MeasuredRow, joined
from .peers import PeerConnection, PeerError

REPEAT_SECONDS = 3.0
"""About how long one check repeats; loading libraries comes on top."""
WATCHED = 0.8
"""Share of its longest time for which a check that disturbs nobody looks on."""
LONGEST = 0.7
"""Share of its longest time after which a check repeats no more, however its repeats differ: the
rest is for libraries to load."""
RANKS_SECONDS = 12.0
"""For how long ranks are watched where every check is run."""
PAIR = "all_reduce_pair"
MORE_LOOKS = 2
"""So often a check that is open after the comparison is measured again, with the peer's."""
_CLOCK = "clock"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckPlan:
    """What is to be checked. Times in seconds, `seconds` for all of it."""

    host: str
    only: tuple[str, ...] = ()
    seconds: float = 90.0
    repeat_seconds: float = REPEAT_SECONDS
    peer: str = ""
    peer_port: int = peers.DEFAULT_PORT
    own_port: int = peers.DEFAULT_PORT
    meet_seconds: float = peers.MEET_SECONDS
    beside_jobs: bool = False
    order: CheckOrder = field(default_factory=lambda: CheckOrder(""))


class CheckMeasurement(Protocol):
    """How one check is measured; see `children.measure`."""

    def __call__(
        self, order: CheckOrder, *, most_seconds: float, yielding: children.Yielding
    ) -> Sequence[MeasuredRow]: ...


def nobody(_check: str, _kind: str) -> ComparedValues | None:
    """Return what is known of others where there is no collector: nothing."""
    return None


def check(
    plan: CheckPlan,
    *,
    watch: TrainerFinder,
    fleet: FleetValues = nobody,
    measure: CheckMeasurement = children.measure,
    now: Callable[[], float] = time.monotonic,
) -> list[JudgedCheck]:
    """Return a result a check and device, in the order of the table."""
    rows = [row for row in runnable().values() if not plan.only or row.name in plan.only]
    with _met(plan, rows, watch) as (peer, why):
        run = _CheckRun(plan, watch, measure, now, now() + plan.seconds, peer, why)
        measured = run.rows(rows)
        theirs = peer_values.exchanged(peer, measured)
        for look in range(MORE_LOOKS):
            found = _judged(rows, measured, theirs, fleet)
            again = peer_values.agreed(peer, run.again(found, look))
            if not again:
                break
            for name, more in run.rows([one for one in rows if one.name in again]).items():
                measured[name] = joined(measured[name], more)
            theirs = peer_values.exchanged(peer, measured) or theirs
        if peer is not None and PAIR in measured and not measured[PAIR]:
            measured[PAIR] = _paired(plan, peer, measure, watch)
    return _judged(rows, measured, theirs, fleet)


def _judged(
    rows: Sequence[ActiveCheck],
    measured: Mapping[str, Sequence[MeasuredRow]],
    theirs: Mapping[tuple[str, str], ComparedValues],
    fleet: FleetValues,
) -> list[JudgedCheck]:
    return [
        judging.judge(
            one,
            row,
            peer=theirs.get((one.name, row.kind)),
            fleet=fleet(one.name, row.kind) if row.samples and one.compared else None,
            beside=_beside(row, measured[one.name]),
        )
        for one in rows
        for row in measured[one.name]
    ]


@contextlib.contextmanager
def _met(
    plan: CheckPlan, rows: Sequence[ActiveCheck], watch: TrainerFinder
) -> Generator[tuple[PeerConnection | None, str], None, None]:
    """Meet the peer, where one is asked for; else say why there is none."""
    if not plan.peer:
        yield None, "there is no peer; name one (--peer HOST)"
        return
    light = all(row.beside_jobs for row in rows)
    try:
        peer = peers.meet(
            plan.peer,
            own_name=plan.host,
            port=plan.own_port,
            call_port=plan.peer_port,
            seconds=plan.meet_seconds,
            yielding=lambda: "" if light else _job(plan, watch),
        )
    except PeerError as error:
        yield None, str(error)
        return
    try:
        yield peer, ""
    finally:
        peer.close()


@dataclass(frozen=True, slots=True)
class _CheckRun:
    """One run of a plan. `peer`: None, and `no_peer` says why; end: when all of it is over."""

    plan: CheckPlan
    watch: TrainerFinder
    measure: CheckMeasurement
    now: Callable[[], float]
    end: float
    peer: PeerConnection | None
    no_peer: str

    def rows(self, checks: Sequence[ActiveCheck]) -> dict[str, Sequence[MeasuredRow]]:
        """Return the measured rows by check; none yet of the one that both hosts run together."""
        offset = _offset(self.peer)
        found: dict[str, Sequence[MeasuredRow]] = {}
        for one in checks:
            if one.name == PAIR and self.peer is not None:
                found[one.name] = []
            elif one.name == _CLOCK and offset is not None:
                found[one.name] = [MeasuredRow(_CLOCK, (abs(offset),))]
            elif why := self._not_run(one):
                found[one.name] = [MeasuredRow("", missing=why)]
            else:
                found[one.name] = self._measured(one)
        return found

    def again(self, found: Sequence[JudgedCheck], look: int) -> frozenset[str]:
        """Return the checks that are open after so many further looks and have time left."""
        left = self.end - self.now()
        return frozenset(
            row.check
            for row in found
            if row.open_after(look) and runnable()[row.check].seconds <= left
        )

    def _not_run(self, check: ActiveCheck) -> str:
        """Return why a check is left out, "" where it is run."""
        if check.name == PAIR:
            return self.no_peer
        if self.now() >= self.end:
            return f"the time of all checks was over ({self.plan.seconds:.0f} s; --seconds)"
        if check.needs == "ranks" and len({row.meets for row in self.watch.everyone()}) > 1:
            return "ranks of several jobs run here: which are one another's peers is not known"
        return "" if check.beside_jobs else _job(self.plan, self.watch)

    def _measured(self, check: ActiveCheck) -> Sequence[MeasuredRow]:
        plan = self.plan
        order = replace(
            plan.order,
            check=check.name,
            seconds=_repeat_seconds(check, plan),
            longest=LONGEST * check.seconds,
            names=tuple(dict.fromkeys(name for name in (*plan.order.names, plan.peer) if name)),
            ranks=_ranks(self.watch) if check.needs == "ranks" else (),
        )
        found = self.measure(
            order,
            most_seconds=min(check.seconds, max(self.end - self.now(), 0.0)),
            yielding=_never if check.beside_jobs else lambda: _job(plan, self.watch),
        )
        if check.name == _CLOCK and plan.peer:
            return [_without_peer(row, self.no_peer) for row in found]
        return found


def _repeat_seconds(check: ActiveCheck, plan: CheckPlan) -> float:
    """Return how long a check repeats. What it only watches, and was asked for, it watches long."""
    watches = check.beside_jobs and check.devices == "none"
    if watches and plan.only:
        return check.seconds * WATCHED
    # For less than a few steps what ranks do says nothing.
    least = RANKS_SECONDS if check.needs == "ranks" else plan.repeat_seconds
    return min(least, check.seconds / 2)


def _ranks(watch: TrainerFinder) -> tuple[tuple[int, int], ...]:
    """Return the ranks that run here, each with its pid."""
    found = {row.rank: row.pid for row in watch.everyone() if row.rank is not None}
    return tuple(sorted(found.items()))


def _without_peer(row: MeasuredRow, why: str) -> MeasuredRow:
    return replace(row, missing=f"{row.missing.partition(';')[0]}; {why}") if row.missing else row


def _never() -> str:
    return ""


def _job(plan: CheckPlan, watch: TrainerFinder) -> str:
    """Return why the node is left alone, "" while no job is seen."""
    if plan.beside_jobs or (running := watch.first()) is None:
        return ""
    return (
        f"a training process runs here (pid {running.pid}, {running.name}): the node is left to "
        "it; check in a pause, or pass --beside-jobs"
    )


def _offset(peer: PeerConnection | None) -> float | None:
    if peer is None:
        return None
    try:
        return peer.clock_offset()
    except (PeerError, TypeError, ValueError):
        return None


def _paired(
    plan: CheckPlan, peer: PeerConnection, measure: CheckMeasurement, watch: TrainerFinder
) -> Sequence[MeasuredRow]:
    """Run the check that both hosts run together, at the same time."""
    one = runnable()[PAIR]
    why = _job(plan, watch)
    try:
        if peer.first:
            store = 0 if why else _free_port()
            peer.send({"store": store, "why": why})
            answer = peer.receive(10.0)
        else:
            answer = peer.receive(peer_values.WAIT_SECONDS)
            store = int(answer.get("store", 0))
            peer.send({"ready": not why, "why": why})
        why = why or str(answer.get("why", ""))[:200]
    except (PeerError, TypeError, ValueError) as error:
        return [MeasuredRow("", missing=f"the peer did not take part: {error}")]
    if why or not store:
        return [MeasuredRow("", missing=why or "the peer did not take part")]
    order = replace(
        plan.order,
        check=PAIR,
        seconds=plan.repeat_seconds,
        peer=peer.address,
        store=store,
        first=peer.first,
    )
    return measure(order, most_seconds=one.seconds, yielding=lambda: _job(plan, watch))


def _free_port() -> int:
    with socket.create_server(("", 0)) as taken:
        return int(taken.getsockname()[1])


def _beside(row: MeasuredRow, rows: Sequence[MeasuredRow]) -> ComparedValues | None:
    """Return the values of the other devices of this host that are of the same kind."""
    values = [
        value
        for other in rows
        if other is not row
        and other.kind == row.kind
        and (value := judging.typical(other)) is not None
    ]
    return ComparedValues(tuple(values), f"{len(values)} devices beside it") if values else None
