"""Whose job a process is: whom the job names, else the user who owns the process.

Owners are looked up in the password file alone: a directory service that hangs would stop the
agent. Who owns a process in a pod says nothing, nor does user 0.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from . import procfs
from .attribution import cgroups
from .inbox import ReceivedDatagram

if TYPE_CHECKING:
    from .settings import JobUser

LONGEST = 64
"""Characters of a user label; what is longer is none."""

_PASSWORDS = Path("/etc/passwd")


class ProcessUsers:
    """Finds the user label of processes, by a policy of the settings."""

    def __init__(
        self, policy: "JobUser", *, proc: Path = procfs.PROC, passwords: Path = _PASSWORDS
    ) -> None:
        self._policy = policy
        self._proc = proc
        self._passwords = passwords

    def of(self, received: ReceivedDatagram) -> str:
        """Return the label of the process that sent a datagram, "" where there is none."""
        if self._policy == "none":
            return ""
        named = received.datagram.user.strip()
        if named and len(named) <= LONGEST and named.isprintable():
            return named
        if self._policy == "named" or not received.pid:
            return ""
        return self._owner(received.pid)

    def _owner(self, pid: int) -> str:
        member = cgroups.of(pid, self._proc)
        if member is None or member.pod_uid:
            return ""
        number = next(iter(procfs.status_fields(pid, self._proc).get("Uid", "").split()), "0")
        if number == "0":
            return ""
        try:
            lines = self._passwords.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return ""
        rows = (line.split(":") for line in lines)
        return next((row[0] for row in rows if len(row) > 2 and row[2] == number), "")
