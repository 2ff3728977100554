"""Whether a process is who it says: what it claims beside what the kernel shows of it.

Peer credentials say who sent a datagram. What the process was started with says which rank it is:
its environment, where the agent may read it; the cgroup in which Slurm keeps it, which it cannot
leave; and whose the job's other processes on this node are. A process may be started with any
environment: the environment alone tells mistakes from the truth, the owner and Slurm tell tenants
apart.
"""

import socket
from collections import OrderedDict
from pathlib import Path

from ..vocabulary import identity
from ..vocabulary.datagram import ProbeDatagram
from . import procfs
from .attribution import cgroups
from .inbox import ReceivedDatagram

UNSEEN, ENVIRONMENT, OWNER, SCHEDULER = "unseen", "environment", "owner", "scheduler"
"""Why a claim is not believed: nothing shows the process; it was started as another job or rank,
or as none; the job's processes on this node are another user's; Slurm started it for another."""

_MOST_JOBS = 10_000


class SenderChecks:
    """Checks senders; for one thread. The first user whose process is believed owns a job here."""

    def __init__(self, proc: Path = procfs.PROC) -> None:
        self._proc = proc
        self._owners: OrderedDict[str, tuple[int, int, int]] = OrderedDict()
        """By job: its user, and the process that showed it, with its start."""

    def doubt(self, received: ReceivedDatagram) -> str:
        """Return why a sender's job, rank and pid are not believed, "" where they are."""
        pid, sent = received.pid, received.datagram
        started = None if pid is None else procfs.start_ticks(pid, self._proc)
        if pid is None or started is None:
            return UNSEEN
        status = procfs.status_fields(pid, self._proc)
        users = status.get("Uid", "").split()
        user = int(users[1]) if received.uid is None and len(users) > 1 else received.uid
        if user is None:
            return UNSEEN
        if str(sent.pid) not in (str(pid), *status.get("NSpid", "").split()):
            return ENVIRONMENT
        return self._launch_doubt(sent, pid) or (
            "" if self._owns(user, sent.job, (pid, started)) else OWNER
        )

    def _launch_doubt(self, sent: ProbeDatagram, pid: int) -> str:
        """Return what a process was started with that is not what it says."""
        environ = procfs.environ(pid, self._proc)
        member = cgroups.of(pid, self._proc)
        slurm_job = member.slurm_job if member else ""
        if slurm_job:
            if sent.job == slurm_job:
                return ""
            given = environ.get("SLURM_JOB_ID") or environ.get("SLURM_JOBID") or slurm_job
            if sent.job.isdecimal() or given != slurm_job:
                return SCHEDULER
        if not environ:
            return UNSEEN
        who = identity.identify(environ, pid=sent.pid)
        # A process alone is named by its host, as its container calls it, and its own pid.
        alone = f"-{sent.pid}"
        same = who.job == sent.job or (
            who.job == socket.gethostname() + alone and sent.job.endswith(alone)
        )
        return "" if same and (not who.launched or who.rank == sent.rank) else ENVIRONMENT

    def _owns(self, user: int, job: str, process: tuple[int, int]) -> bool:
        """Return whether a job's processes on this node are a user's; note it where they may be."""
        known = self._owners.get(job)
        if known is not None and known[0] != user:
            _, pid, started = known
            if procfs.start_ticks(pid, self._proc) == started:
                return False
        self._owners[job] = (user, *process)
        self._owners.move_to_end(job)
        if len(self._owners) > _MOST_JOBS:
            self._owners.popitem(last=False)
        return True
