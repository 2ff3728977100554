"""Interfaces: bytes, errors and drops of every network interface with hardware behind it, and TCP.

The readers of the network report the ports that training uses in more detail; these numbers
are the host's own view, management interfaces included.
"""

import os
from pathlib import Path

from ...vocabulary.samples import Sample, attributes
from .. import procfs

# Columns of /proc/net/dev: receive (bytes packets errs drop fifo frame compressed multicast), then
# transmit (bytes packets errs drop fifo colls carrier compressed).
_RECEIVE, _TRANSMIT = 0, 8
_BYTES, _ERRORS, _DROPPED = 0, 2, 3
_COLUMNS = 16


class InterfaceReader:
    """Reads /proc/net/dev and /proc/net/snmp of the host's first process, else of our own."""

    name = "interfaces"

    def __init__(
        self, *, period: float, proc: Path = procfs.PROC, sys: Path = Path("/sys")
    ) -> None:
        self.period = period
        self._proc = proc
        self._net = sys / "class/net"

    def supported(self) -> tuple[bool, str]:
        """Return whether the counters can be read."""
        if self._text("dev"):
            return True, ""
        return False, f"{self._proc}/net/dev cannot be read"

    def read(self, now: float) -> list[Sample]:
        """Return counters since the host started."""
        samples: list[Sample] = []
        for line in self._text("dev").splitlines()[2:]:
            name, _, rest = line.partition(":")
            name, columns = name.strip(), rest.split()
            if len(columns) < _COLUMNS or not self._physical(name):
                continue
            for direction, first in (("receive", _RECEIVE), ("transmit", _TRANSMIT)):
                pairs = attributes({"device": name, "direction": direction})
                samples += [
                    Sample(metric, float(columns[first + column]), now, pairs)
                    for metric, column in (
                        ("system.network.io", _BYTES),
                        ("system.network.errors", _ERRORS),
                        ("system.network.packet.dropped", _DROPPED),
                    )
                ]
        retransmits = _retransmits(self._text("snmp"))
        if retransmits is not None:
            samples.append(Sample("system.network.tcp.retransmits", float(retransmits), now))
        return samples

    def _physical(self, name: str) -> bool:
        """Tell an interface with a device behind it from pairs, bridges and VFs."""
        device = self._net / name / "device"
        return os.path.exists(device) and not os.path.exists(device / "physfn")  # noqa: PTH110

    def _text(self, name: str) -> str:
        for folder in (f"{self._proc}/1", f"{self._proc}"):
            text = procfs.read(f"{folder}/net/{name}")
            if text:
                return text
        return ""


def _retransmits(snmp: str) -> int | None:
    """Return RetransSegs; /proc/net/snmp has a line of names and one of values a protocol."""
    lines = [line.split() for line in snmp.splitlines() if line.startswith("Tcp:")]
    if len(lines) != 2 or "RetransSegs" not in lines[0]:
        return None
    return int(lines[1][lines[0].index("RetransSegs")])
