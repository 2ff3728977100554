"""Transfers over RDMA that were given up: between which ends, and which end all of them share.

A card that gets no answer retries for seconds, then gives up: the port on either end, a cable or a
switch between them, or a peer that is gone. One pair says no more. Where transfers between several
pairs were given up and one end is in all of them, that end is where to look.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ....vocabulary.samples import GUESSED, Event, Scalar
from .contents import LogContents
from .port_lines import UNNAMED

SIGNATURES = frozenset({
    "nccl.ib_completion_error", "ucx.retry_exceeded", "ucx.retried_peer", "verbs.retry_exceeded",
    "efa.unresponsive",
})  # fmt: skip
"""Of lines by which a transfer was given up, or that name the peer of one."""

PAIRS, SHARE = 2, 0.75
"""So many pairs, and such a share of all pairs, have an end in common that is suspected."""

_HOST = r"[A-Za-z0-9][\w.-]{0,127}"
_WROTE = re.compile(
    rf"My host id: (?P<efa>\S{{1,80}})|\bfrom (?P<openib>{_HOST}) to: "
    rf"|(?:^|[\s>\]])(?P<nccl>{_HOST}):\d{{1,9}}:\d{{1,9}} \[\d{{1,3}}\] "
    rf"|\[(?P<ucx>{_HOST}):\d{{1,9}} ?:\d"
)
"""Who wrote a line: by itself, or by what NCCL or UCX write before it."""
_GIDS = re.compile(r"localGid (\S{2,80}) remoteGids? ?(\S{2,80})")
_ADDRESS = re.compile(
    rf"(?P<host>{_HOST}):\d{{1,9}}:\d{{1,9}} \[\d{{1,3}}\] NCCL INFO (?:Bootstrap|NET/Socket) ?: ?"
    r"Using (?:\[\d{1,2}\])?[\w.@-]{1,32}:(?P<address>[\w.:%\[\]-]{3,64})<".encode()
)
_NAMED = 8
"""Peers that are named at most."""
_MOST_BYTES = 64 << 20
"""Of a log whose start is asked for addresses."""


class _EndNames:
    """Which names are of one end: a host, its address, and the ids of its ports."""

    def __init__(self) -> None:
        self._of: dict[str, str] = {}

    def read(self, paths: Iterable[Path]) -> None:
        """Learn the addresses of hosts from what NCCL says at its start. Raises OSError."""
        for path in paths:
            with path.open("rb") as opened:
                for found in _ADDRESS.finditer(opened.read(_MOST_BYTES)):
                    self.same(found["host"].decode(), found["address"].decode())

    def same(self, name: str, other: str) -> None:
        """Note that two names are of one end, which is shown by the first of them."""
        name, other = self.of(name), self.of(other)
        if name != other:
            self._of[other] = name

    def of(self, name: str) -> str:
        """Return the name by which an end is shown."""
        while name in self._of:
            name = self._of[name]
        return name


def add(gathered: LogContents, files: Mapping[str, Path]) -> None:
    """Say of the end that all pairs of transfers have in common that it does not answer.

    Nothing is said where another line points at a fault: a peer that ended does not answer either.
    """
    given_up = [
        (rank, event)
        for rank, _, event in gathered.events
        if event.attributes.get("signature") in SIGNATURES
    ]
    if len(given_up) < PAIRS or _explained(gathered):
        return
    names = _EndNames()
    try:
        names.read(files.values())
    except OSError:
        return  # said where it was read
    ends = _ends(gathered, given_up, names)
    end = shared(frozenset(pair) for pair in ends if all(pair) and pair[0] != pair[1])
    if end is None:
        return
    peers = sorted({one for pair in ends if end in pair for one in pair} - {end, ""})
    text = f"transfers between {end} and {', '.join(peers[:_NAMED])} were given up"
    own = [event for (_, event), pair in zip(given_up, ends, strict=True) if pair[0] == end]
    devices = {str(event.attributes["device"]) for event in own if "device" in event.attributes}
    device, _, port = (devices.pop() if len(devices) == 1 else UNNAMED).partition(":")
    said: dict[str, Scalar] = {
        "device": device, "port": port or "1", "state": "down", "reason": "unanswered",
        "text": text, **({} if own else GUESSED),
    }  # fmt: skip
    last = max((event for _, event in given_up), key=lambda event: event.at)
    link = Event("network.link", last.at, said, replace(last.resource, host=end))
    gathered.events.append((None, "", link))


def shared(pairs: Iterable[frozenset[str]]) -> str | None:
    """Return the end that nearly all pairs have in common, None where no one end or several do."""
    every = set(pairs)
    counts = Counter(end for pair in every for end in pair).most_common(2)
    if len(every) < PAIRS or len(counts) < 2:
        return None
    (end, most), (_, second) = counts
    return end if most >= max(PAIRS, SHARE * len(every)) and 2 * second <= len(every) else None


def _explained(gathered: LogContents) -> bool:
    """Tell whether anything else says why a peer may be gone."""
    roots = (
        event.name in ("gpu.fault", "host.oom_kill", "network.link")
        or event.attributes.get("role") == "root"
        for _, _, event in gathered.events
        if event.attributes.get("signature") not in SIGNATURES
    )
    launched = gathered.launches.of_kind("oom", "node", "stop")
    return any(roots) or bool(launched) or bool(gathered.kernels.faults)


def _ends(
    gathered: LogContents, given_up: Sequence[tuple[int | None, Event]], names: _EndNames
) -> list[tuple[str, str]]:
    """Return who wrote each line, and the peer that it names; "" where nothing says it."""
    ends = [
        (_writer(gathered, rank, event), str(event.attributes.get("peer", "")).replace(" ", "-"))
        for rank, event in given_up
    ]
    gids = [_GIDS.search(str(event.attributes.get("text", ""))) for _, event in given_up]
    for number in (1, 0):  # who writes has a name, of a peer there is an address
        for pair, said in zip(ends, gids, strict=True):
            if pair[number] and said:
                names.same(pair[number], said[number + 1])
    return [(names.of(writer), names.of(peer)) for writer, peer in ends]


def _writer(gathered: LogContents, rank: int | None, event: Event) -> str:
    if wrote := _WROTE.search(str(event.attributes.get("text", ""))):
        return str(next(filter(None, wrote.groups())))
    if rank is None:
        return ""
    # Ranks of which no host is known may share one, and then its port.
    process = gathered.processes.get(rank)
    return process.host if process else ""
