"""Who a process is: job, attempt, rank and world size, from the launcher's variables.

The probe asks for its own process, the agent for those whose environment it may read.
"""

import os
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from . import tables

_NO_RUN_ID = {"", "none"}
"""What torchrun sets when nobody gave it a rendezvous id."""

_USERS = ("RANKSCOPE_JOB_USER", "SLURM_JOB_USER")
"""Whom a job names as its user: whoever starts it may name a team or a cost centre instead."""

_GROUP, _GROUPS = "REPLICA_GROUP_ID", "NUM_REPLICA_GROUPS"
"""What torchft gives its replica groups: each is a torchrun of its own, with ranks from 0."""

_NODES, _MOST_RESTARTS = "GROUP_WORLD_SIZE", "TORCHELASTIC_MAX_RESTARTS"
"""Over how many nodes torchrun's ranks run, and how often each node's launcher may restart them."""

_REQUEUE = 100
"""One requeue by the scheduler outweighs every restart torchrun makes inside it."""


@dataclass(frozen=True, slots=True)
class RankIdentity:
    """The job, attempt and rank of a process.

    `given` names the fields that the caller, or a replica group, fixed: torch's group has no say.

    `attempt` is None when neither caller nor launcher numbers attempts: the collector then tells
    them apart by the start times of their processes. `launched` is False when neither gave the
    rank: 0 is then a guess, which torch's process group may still correct. `user` is whom the
    job's GPU time is charged to, "" where neither site nor launcher names somebody.
    """

    job: str
    attempt: int | None
    rank: int
    local_rank: int
    world_size: int
    given: frozenset[str] = frozenset()
    launched: bool = True
    user: str = ""


@dataclass(frozen=True, slots=True)
class JobLauncher:
    """The variables of one launcher, as identity.toml lists them: of each the first that is set."""

    name: str
    job: tuple[str, ...]
    attempt: tuple[str, ...]
    rank: tuple[str, ...]
    local_rank: tuple[str, ...]
    world_size: tuple[str, ...]
    counts_restarts_only: bool = False
    """The attempt's variable is absent in a first attempt."""


def identify(
    environ: Mapping[str, str],
    *,
    job: object = None,
    attempt: object = None,
    rank: object = None,
    local_rank: object = None,
    world_size: object = None,
    pid: int | None = None,
) -> RankIdentity:
    """Return who a process is: what the caller gave, else the launcher, else one process alone.

    `pid` is the process's, None: this one's.

    Values that make no sense (a rank that is not a number) count as not given; nothing is raised.
    Replica groups of torchft are one world where the site has named their job: the ranks of group
    2, of four each, are 8 to 11. A group that is restarted is no new attempt of the others.

    torchrun that may restart ranks on several nodes numbers no attempt: each launcher counts what
    failed on its own node, so that the ranks of one world have several numbers.
    """
    launchers = _launchers()
    here = next((row for row in launchers if _first(environ, row.rank) is not None), None)

    def number(given: object, variables: Iterable[str], otherwise: int) -> int:
        for candidate in (given, _first(environ, variables)):
            value = _whole(candidate)
            if value is not None:
                return value
        return otherwise

    group = _whole(environ.get(_GROUP)) if job or environ.get("RANKSCOPE_JOB_ID") else None
    if group is not None and here is not None and rank is None and world_size is None:
        size = number(None, here.world_size, 1)
        rank = group * size + number(None, here.rank, 0)
        world_size = max(_whole(environ.get(_GROUPS)) or 0, group + 1) * size
    the_rank = number(rank, here.rank if here else (), 0)
    by_hand = {"rank": rank, "world_size": world_size, "local_rank": local_rank}
    return RankIdentity(
        job=_job(environ, launchers, job, os.getpid() if pid is None else pid),
        attempt=_attempt(environ, launchers, attempt, alone=group is None),
        rank=the_rank,
        local_rank=number(local_rank, here.local_rank if here else (), 0),
        world_size=max(number(world_size, here.world_size if here else (), 1), the_rank + 1),
        given=frozenset(name for name, value in by_hand.items() if _whole(value) is not None),
        launched=here is not None or _whole(rank) is not None,
        user=_first(environ, _USERS) or "",
    )


@cache
def _launchers() -> list[JobLauncher]:
    return tables.packaged(JobLauncher, __package__ or "", "identity.toml", "launcher")


def _first(environ: Mapping[str, str], names: Iterable[str]) -> str | None:
    return next((environ[name] for name in names if environ.get(name)), None)


def _whole(value: object) -> int | None:
    """Return a whole number from 0, or None for whatever is not one."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    try:
        number = int(value)
    except ValueError:
        return None
    return number if number >= 0 else None


def _job(environ: Mapping[str, str], launchers: list[JobLauncher], given: object, pid: int) -> str:
    if given is not None and str(given):
        return str(given)
    if named := environ.get("RANKSCOPE_JOB_ID"):
        return named
    for row in launchers:
        found = _first(environ, row.job)
        if found is not None and found.lower() not in _NO_RUN_ID:
            return found
    # Every rank must arrive at the same name: the rendezvous is what they share.
    if master := environ.get("MASTER_ADDR"):
        return f"{master}-{environ.get('MASTER_PORT', '0')}"
    return f"{socket.gethostname()}-{pid}"


def _attempt(
    environ: Mapping[str, str], launchers: list[JobLauncher], given: object, *, alone: bool
) -> int | None:
    """Return the attempt's number; `alone` False: what torchrun counts is of one replica group."""
    for candidate in (given, environ.get("RANKSCOPE_JOB_ATTEMPT")):
        number = _whole(candidate)
        if number is not None:
            return number
    counts = {row.name: _restarts(environ, row) for row in launchers}
    requeues = counts.pop("slurm")
    if not alone:
        counts = {"torchft": 0}
    elif counts["torchrun"] is not None and _restarts_by_node(environ):
        return None
    restarts = [count for count in counts.values() if count is not None]
    if requeues is None and not restarts:
        return None
    return (requeues or 0) * _REQUEUE + sum(restarts)


def _restarts_by_node(environ: Mapping[str, str]) -> bool:
    nodes, most = _whole(environ.get(_NODES)) or 1, _whole(environ.get(_MOST_RESTARTS)) or 0
    return nodes > 1 and most > 0


def _restarts(environ: Mapping[str, str], row: JobLauncher) -> int | None:
    """Return how often a launcher restarted the job, None where it does not count."""
    count = _whole(_first(environ, row.attempt))
    if count is None and row.counts_restarts_only and _first(environ, row.job):
        return 0
    return count
