"""What launchers and schedulers say of hosts: nodes that failed, kills for memory."""

from collections.abc import Iterable, Sequence

from .exits import SIGKILL, RankExits
from .known import KnownRanks
from .record import FiledReport
from .verdicts import LaunchVerdict

_BELOW = 3
"""So many lines below what a daemon of a host says it still speaks of that."""


def add_failed_nodes(ends: Iterable[FiledReport], verdict: LaunchVerdict) -> None:
    """Add the nodes that a scheduler lost; one that no line names is the only one, if it is."""
    for one in ends:
        if one.report.form.kind == "node":
            host = verdict.places.host(one) or verdict.places.likely_host()
            verdict.blame(one, "scheduler.event", host, reason=one.report.form.reason)


def add_memory_kills(
    ends: Sequence[FiledReport],
    exits: RankExits,
    known: KnownRanks,
    verdict: LaunchVerdict,
    said: Sequence[FiledReport],
) -> None:
    """Add kills for memory; a host that no line names is the only one, or that of the rank.

    Where a line beside it says a kill with its host, the one without tells of the same.
    `said`: what launchers said besides. Who cancels a job below its kill does so on that host.
    """
    places = verdict.places
    beside: dict[str, str] = {}
    for one in ends:
        if one.report.form.kind != "oom":
            continue
        rank = next(iter((*places.ranks(one), *_killed(exits, known))), None)
        own = places.host(one) or places.host_of(rank) or _named_below(one, (*ends, *said))
        host = own or beside.get(one.file, "") or places.likely_host()
        if own:
            beside[one.file] = own
        if rank is None and not places.on(host):
            places.place_others(host)
        if rank is not None and not places.host_of(rank):
            places.hosts[rank] = host
        verdict.blame(one, "host.oom_kill", host, rank)
        if not exits:
            for each in [rank] if rank is not None else places.on(host):
                verdict.end(each, -SIGKILL, places.at(one))


def _named_below(one: FiledReport, said: Sequence[FiledReport]) -> str:
    """Return the host that the lines below a kill name, of a kill or of Slurm's end of the job."""
    below = (
        other.report
        for other in said
        if other.file == one.file and 0 < other.report.line - one.report.line <= _BELOW
        and (other.report.form.kind == "oom" or other.report.form.name == "slurm.job_cancelled")
    )  # fmt: skip
    return next((report.host for report in below if report.host), "")


def _killed(exits: RankExits, known: KnownRanks) -> list[int]:
    """Return the rank that SIGKILL ended, or that says nothing, where it is one."""
    killed = [rank for rank, (code, _) in exits.items() if code == -SIGKILL]
    if len(killed) != 1:
        killed = list(known.silent)
    return killed if len(killed) == 1 else []
