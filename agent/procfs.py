"""What /proc shows of one process: plain readings, None where there is nothing to read.

`proc` is an argument everywhere: a container mounts the host's elsewhere, tests bring their own.
"""

import os
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
TICKS = os.sysconf("SC_CLK_TCK")
_SYS_PTRACE = 19  # CAP_SYS_PTRACE
_GONE = (FileNotFoundError, ProcessLookupError, PermissionError, NotADirectoryError)


@dataclass(frozen=True, slots=True)
class ProcessStat:
    """Fields of /proc/PID/stat, numbered from 1 as proc(5) does."""

    command: str
    fields: tuple[str, ...]

    def __getitem__(self, number: int) -> str:
        """Return a field by its number in proc(5), from 3 on."""
        return self.fields[number - 3]


def stat(pid: int, proc: Path = PROC) -> ProcessStat | None:
    """Return a process's stat, None when it is gone."""
    text = read(f"{proc}/{pid}/stat")
    if text is None:
        return None
    # The command may hold spaces and brackets of its own: only the last bracket closes it.
    head, _, tail = text.rpartition(")")
    return ProcessStat(head.partition("(")[2], tuple(tail.split()))


def start_ticks(pid: int, proc: Path = PROC) -> int | None:
    """Return when a process started, in ticks since boot: with its pid, who it is."""
    found = stat(pid, proc)
    return int(found[22]) if found else None


def started_at(pid: int, proc: Path = PROC) -> float | None:
    """Return when a process started, in seconds since the epoch, None when it is gone.

    Ticks since boot are exact; the time of the boot is what the kernel says now, which moves with
    the wall clock when that is set.
    """
    ticks, booted = start_ticks(pid, proc), boot_time(proc)
    return None if ticks is None or booted is None else booted + ticks / TICKS


def boot_time(proc: Path = PROC) -> int | None:
    """Return when the machine was booted, in whole seconds since the epoch (`btime`)."""
    _, found, rest = (read(f"{proc}/stat") or "").rpartition("btime ")
    number = rest.split("\n", 1)[0].strip() if found else ""
    return int(number) if number.isdecimal() else None


def state(pid: int, proc: Path = PROC) -> str | None:
    """Return a process's state letter, None when it is gone."""
    found = stat(pid, proc)
    return found[3] if found else None


def zombie_status(pid: int, proc: Path = PROC, *, trusted: bool) -> int | None:
    """Return the wait status of a process that is a zombie, None when it is not or is not shown.

    To those who may not trace the process the kernel shows 0, which then means nothing.
    `trusted`: we may trace anyone, else it takes the same user.
    """
    found = stat(pid, proc)
    if found is None or found[3] != "Z":
        return None
    status = int(found[52])
    if status == 0 and not trusted and not _ours(pid, proc):
        return None
    return status


def may_trace_anyone(proc: Path = PROC) -> bool:
    """Return whether this process holds CAP_SYS_PTRACE."""
    effective = status_fields("self", proc).get("CapEff", "0")
    return bool(int(effective, 16) >> _SYS_PTRACE & 1)


def status_fields(pid: int | str, proc: Path = PROC) -> dict[str, str]:
    """Return the lines of /proc/PID/status by name, empty when the process is gone."""
    text = read(f"{proc}/{pid}/status") or ""
    pairs = (line.partition(":") for line in text.splitlines())
    return {name: value.strip() for name, _, value in pairs}


def environ(pid: int, proc: Path = PROC) -> dict[str, str]:
    """Return the environment a process was started with, empty where it is not ours to read."""
    pairs = (pair.partition("=") for pair in (read(f"{proc}/{pid}/environ") or "").split("\0"))
    return {name: value for name, _, value in pairs if name}


def read(path: str) -> str | None:
    """Return the whole of a file of the kernel's, None when it is gone or not ours to read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except _GONE:
        return None
    parts: list[bytes] = []
    try:
        # The kernel gives what it makes line by line in pieces of a page, however much is asked.
        while part := os.read(fd, 65536):
            parts.append(part)
    except _GONE:
        return None
    finally:
        os.close(fd)
    return b"".join(parts).decode(errors="replace")


def number(text: str, name: str) -> int | None:
    """Return the number behind a name at the beginning of a line ("name 1", "Name: 1 kB")."""
    _, _, behind = f"\n{text}".partition(f"\n{name} ")
    words = behind.partition("\n")[0].split(maxsplit=1)
    return int(words[0]) if words and words[0].isdecimal() else None


def names(folder: str) -> list[str]:
    """Return what a folder of the kernel's holds, nothing when it is gone."""
    try:
        return os.listdir(folder)  # noqa: PTH208  names, not a thousand Paths
    except _GONE:
        return []


def _ours(pid: int, proc: Path) -> bool:
    user = str(os.geteuid())
    users = status_fields(pid, proc).get("Uid", "").split()
    return bool(users) and set(users[:3]) == {user}
