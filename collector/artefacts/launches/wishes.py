"""What somebody wanted: ends of jobs that no fault made.

Slurm's own end of a step looks like somebody's wish: what came after the first end is none.
"""

from collections.abc import Iterable

from .exits import ASKED, SIGKILL, RankExit
from .known import KnownRanks
from .places import LaunchPlaces
from .record import FiledReport, LaunchRecord
from .verdicts import LaunchVerdict

_STOPPED = ("Cancelled", "Terminated", "Requeued")
"""Reasons of people, and of the job itself: nobody took a host away."""
_TAKES_ALL = ("Preempted", "TimeLimit")
"""Reasons for which a scheduler takes all hosts of a job back; a line names one or none."""
_TAKES_HOSTS = ("Evicted", "SpotReclaimed", "NodeShutdown")
"""Reasons for which the processes of one host end, which no line may name."""
_TAKEN = "Evicted"
"""The reason of a scheduler that took a job back, for whatever."""
_BELOW = 5
"""So many lines below a wish may say that it is for memory beyond a limit, or for a dead node."""


def find(
    record: LaunchRecord, known: KnownRanks, ends: Iterable[FiledReport]
) -> FiledReport | None:
    """Return what says that somebody wanted the end, where nothing had ended before."""
    first: dict[str, int] = {}
    for one in ends:
        if one.report.code not in ASKED:
            first.setdefault(one.file, one.report.line)
    wishes = record.of_kind("stop")
    asked = [
        one for one in record.of_kind("asked")
        if one.report.form.name == "slurm.step_cancelled"
    ]  # fmt: skip
    told = _task_failed(record)
    kills = {one.place for one in record.of_kind("oom")}
    failed = {one.place for one in record.of_kind("node")}
    for one in [*wishes, *asked]:
        below = {(one.file, one.report.line + number) for number in range(1, _BELOW + 1)}
        if not below.isdisjoint(kills):
            continue
        if one.report.form.reason == _TAKEN and not below.isdisjoint(failed):
            continue
        before = first.get(one.file, one.report.line) < one.report.line
        if not before and not known.roots and not (one in asked and told):
            return one
    return None


def add(wish: FiledReport, known: KnownRanks, verdict: LaunchVerdict) -> None:
    """Add what somebody wanted, and the ends of whom a scheduler took with a host.

    A job that had stood for long when its time was up is not dead for that.
    """
    places = verdict.places
    reason = wish.report.form.reason or "Cancelled"
    if reason in _TAKES_ALL and known.due is not None and places.at(wish) > known.due:
        reason = "Cancelled"
    host = "" if reason in _STOPPED else places.host(wish)
    if not host and reason in (*_TAKES_HOSTS, *_TAKES_ALL):
        host = places.likely_host()
        places.place_others(host)
    verdict.blame(wish, "scheduler.event", host, reason=reason)
    verdict.blame(wish, "log.fault", host, signature=wish.report.form.name, role="root")
    if host and reason not in _TAKES_ALL:  # what a scheduler takes ends by a signal
        for rank in places.on(host):
            verdict.end(rank, -15, places.at(wish))


def explains(wish: FiledReport, end: RankExit, places: LaunchPlaces) -> bool:
    """Tell whether a rank failed since somebody wanted the end: what follows is no fault."""
    code, one = end
    if code in (*ASKED, -SIGKILL, 0):
        return False
    if one.file == wish.file:
        return one.report.line > wish.report.line
    dated = one.report.dated and wish.report.dated
    return dated and places.at(one) >= places.at(wish)


def _task_failed(record: LaunchRecord) -> bool:
    """Tell whether Slurm said why it ends a step before: a task failed."""
    return any(one.report.form.name == "slurm.step_ended" for one in record.reports)
