"""Which host a log is of: by its lines, by its file's or folder's name, by the job's hosts."""

import re
from collections.abc import Sequence
from pathlib import PurePath

_WORDS = re.compile(
    r"(?:nvidia|rocm|amd|npu|hl)[_-]smi|nvidia[_-]bug[_-]report|lspci|dmesg|kernel|kern|var[_-]log|messages|syslog|journalctl|journal|console|serial|"
    r"log[s]?|txt|out|err|\d{4}-?\d\d-?\d\d(?:[T_-]?\d{4,6})?|tar|gz|zip",
    re.IGNORECASE,
)
_EDGES = "-_. :@+=,()[]"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,252}")
_LIKELY = re.compile(r"[A-Za-z].*[\d-]|[\d-].*[A-Za-z]")
"""A name of letters alone may be any word."""
_OTHERS = re.compile(
    r"(?:job|run|rank|attempt|slurm|case|ticket|incident|issue|pod|step)s?[-.]?\d*$", re.IGNORECASE
)
"""Names of folders with a number that are no hosts."""


def among(named: str, file: str, hosts: Sequence[str], kernels: int) -> str:
    """Return the host of a kernel's line, as the job calls it where it is one of its hosts.

    named: what the line says, "" nothing. hosts: those that ranks name. kernels: how many hosts the
    kernel logs name. A pod's name is not its node's: where a job has one host, and so have the
    logs, they are the same.
    """
    if named:
        same = [host for host in hosts if _short(host) == _short(named)]
        if same:
            return same[0]
    held = [host for host in hosts if _inside(host, file)]
    if not named and held:
        return max(held, key=len)
    written = named or of_file(file)
    if len(hosts) == 1 and kernels <= 1 and not _alike(written, hosts[0]):
        return hosts[0]
    return written


def of_file(file: str) -> str:
    """Return the host that a file's name or its folder's seems to hold, "" where none does."""
    path = PurePath(file)
    for part in (path.name, *reversed(path.parts[:-1])):
        left = _WORDS.sub(" ", part).strip(_EDGES)
        if _NAME.fullmatch(left) and _LIKELY.search(left) and not _OTHERS.match(left):
            return left
    return ""


def _alike(one: str, other: str) -> bool:
    """Return whether names differ in a number or a last letter alone: those of two hosts do."""
    return bool(one) and _stem(one) == _stem(other)


def _stem(host: str) -> str:
    return re.sub(r"\d+|(?<=[-_.])[a-z]$", "", _short(host))


def _short(host: str) -> str:
    """Return a host's name without its domain; addresses stay as they are."""
    return host if re.fullmatch(r"[\d.]+", host) else host.partition(".")[0].lower()


def _inside(host: str, file: str) -> bool:
    """Return whether a name holds a host's, not as the beginning of a longer one."""
    return re.search(rf"(?<![A-Za-z0-9]){re.escape(host)}(?![A-Za-z0-9])", file) is not None
