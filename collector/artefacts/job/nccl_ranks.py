"""Which rank wrote a line of NCCL in a log of several ranks that have no prefix.

NCCL writes host, process and device before each line. Which rank a process is, its lines of the
start say; in a log that lacks them the channels do, whose ends are named rank[device].
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

_PLACE = (
    r"(?:^|[\s>\]])(?P<host>[A-Za-z0-9][\w.-]{0,127}):(?P<pid>\d{1,9}):\d{1,9} "
    r"\[(?P<device>\d{1,3})\] "
)
_WRITTEN = re.compile(_PLACE)
_SAID = re.compile(
    (
        _PLACE + r"[^\n]{0,200}?(?:comm 0x[0-9a-f]{1,16} rank (?P<rank>\d{1,7}) nranks "
        r"(?P<size>\d{1,7})|\[Proxy Service (?P<proxy>\d{1,7})\]"
        r"|Channel \S{1,12} : (?P<from>\d{1,7})\[(?P<one>\d{1,3})\] -> "
        r"(?P<to>\d{1,7})\[(?P<other>\d{1,3})\])"
    ).encode(),
    re.MULTILINE,
)
_PIECE = 1 << 20
_MOST_PIECES = 64
"""How much of a log is looked at: NCCL says it at the start, or where it fails."""


def host_of(text: str) -> str:
    """Return the host that NCCL wrote before a line, "" where it did not."""
    found = _WRITTEN.search(text)
    return found["host"] if found else ""


@dataclass(slots=True)
class NcclProcesses:
    """What logs say of the processes of a job. ranks: by host and pid, with the size of the group.

    offsets: by host, what is added to a device's number to have its rank, by each line that says.
    """

    ranks: dict[tuple[str, str], tuple[int, int]] = field(
        default_factory=dict[tuple[str, str], tuple[int, int]]
    )
    offsets: dict[str, set[int]] = field(default_factory=dict[str, set[int]])

    def read(self, paths: Iterable[Path]) -> None:
        """Learn from logs. Raises OSError."""
        for path in paths:
            with path.open("rb") as opened:
                for _ in range(_MOST_PIECES):
                    data = opened.readlines(_PIECE)
                    if not data:
                        break
                    self._learn(b"".join(data))

    def wrote(self, text: str) -> tuple[int, str, int] | None:
        """Return rank, host and pid of who wrote a line of NCCL, None where that is not known."""
        found = _WRITTEN.search(text)
        if found is None:
            return None
        host, pid = found["host"], found["pid"]
        offsets = self.offsets.get(host, set())
        if (host, pid) in self.ranks:
            return self.ranks[host, pid][0], host, int(pid)
        if len(offsets) == 1:
            return int(found["device"]) + next(iter(offsets)), host, int(pid)
        return None

    def _learn(self, data: bytes) -> None:
        for found in _SAID.finditer(data):
            said = {name: (value or b"").decode() for name, value in found.groupdict().items()}
            place = said["host"], said["pid"]
            if said["rank"] or said["proxy"]:
                rank, size = int(said["rank"] or said["proxy"]), int(said["size"] or 0)
                if size >= self.ranks.get(place, (0, 0))[1]:
                    self.ranks[place] = rank, size
                continue
            for end, device in ((said["from"], said["one"]), (said["to"], said["other"])):
                if device == said["device"]:
                    self.offsets.setdefault(said["host"], set()).add(int(end) - int(device))
