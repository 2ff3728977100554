"""The inbox: datagrams of probes from the Unix socket and from UDP, decoded, checked, counted.

Senders are other people's processes: whatever comes in is either a datagram that every later part
can take as it is, or a number in `datagrams_bad`.
"""

import hmac
import math
import os
import socket
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ..formats.otlp.text_bounds import BOUNDS
from ..vocabulary import datagram, udp_keys
from ..vocabulary.samples import Event, Scalar
from .health import AgentHealth
from .job_quota import JobQuota
from .open_file import OpenFile

_CREDENTIALS = struct.Struct("=3i")  # struct ucred: pid, uid, gid
_DESCRIPTOR = struct.Struct("=i")
_ANCILLARY = socket.CMSG_SPACE(_CREDENTIALS.size) + socket.CMSG_SPACE(_DESCRIPTOR.size)
_MOST_OPEN = 64
"""Files that senders handed over and that were not looked at yet: beyond, they are closed."""
_FAR = 2**63 / 1e9
"""Seconds: where nanoseconds since the epoch leave the 64 bits of the wire, in the year 2262."""
_MOST_BYTES = datagram.LARGEST + udp_keys.SIGNATURE_BYTES + 1
_MANY = 256
"""Datagrams that are read without waiting for more."""
_LONGEST_NAMES = 1024
"""Characters of a sample's names together: they are kept as long as its series lives."""
_WINDOW_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class ReceivedDatagram:
    """One datagram and who really sent it.

    `pid` is the sender as this host sees it, None where the kernel cannot say (UDP, or a process
    outside our pid namespace), `uid` its user, None over UDP; `origin` distinguishes senders that
    have none. `file` is an open file that it handed over: anything that a process can open, to be
    looked at with care.
    """

    datagram: datagram.ProbeDatagram
    pid: int | None
    origin: str
    file: OpenFile | None = None
    uid: int | None = None


class ProbeInbox:
    """Takes datagrams off sockets that never block, at once; reads what they hold a little later.

    The kernel holds ten for a socket, so they must be fetched as they come. But a thread that
    wakes beside busy trainers finds none of its memory in the caches: reading many datagrams in a
    row costs a third of reading each as it comes. Those with an event in them are urgent.
    """

    def __init__(
        self,
        *,
        health: AgentHealth,
        bytes_per_second: int = 2 << 20,
        jobs_of_sender: int = 256,
        udp_key: bytes | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`bytes_per_second`: of all senders; none gets more than it leaves to the others.

        `jobs_of_sender`: that a user of this host may name within ten minutes, or all by UDP.
        `udp_key`: what datagrams over UDP must be signed with, None where any are taken.
        """
        self._health = health
        self._udp_key = udp_key
        self._most_bytes = bytes_per_second
        self._now = now
        self._bytes = 0
        self._by_sender: dict[int | str, int] = {}
        self._window_ends = -math.inf
        self._unread: list[tuple[bytes, int | None, int | None, str, OpenFile | None]] = []
        self._open = 0
        self._jobs = JobQuota(jobs_of_sender)

    def fetch(self, source: socket.socket, *, limit: int = 256) -> bool:
        """Take what waits at a socket, `limit` datagrams at most, so that a flood lets others by.

        Return whether `read` should be called now. Raises nothing: a socket that fails is counted.
        """
        unix = source.family == socket.AF_UNIX
        transport = "unix" if unix else "udp"
        urgent = False
        for _ in range(limit):
            try:
                # One byte above the largest, so that a datagram cut short is seen as too large.
                data, ancillary, _, address = source.recvmsg(
                    _MOST_BYTES, _ANCILLARY, socket.MSG_CMSG_CLOEXEC
                )
            except (BlockingIOError, InterruptedError):
                break
            except OSError:
                self._health.count("datagrams_bad", "socket")
                break
            pid, uid = _sender(ancillary) if unix else (None, None)
            file = self._file(ancillary) if unix else None
            origin = f"{transport}:{'' if unix else address[0]}"
            if not self._affordable(pid or origin, len(data)):
                self._health.count("datagrams_bad", "flood")
                continue
            if self._udp_key is not None and not unix:
                signed, data = data, data[: -udp_keys.SIGNATURE_BYTES]
                expected = udp_keys.signature(data, self._udp_key)
                if not hmac.compare_digest(expected, signed[len(data) :]):
                    self._health.count("datagrams_bad", "key")
                    continue
            self._unread.append((data, pid, uid, origin, file))
            urgent = urgent or (b'"events"' in data and b'"events":[]' not in data)
        return urgent or len(self._unread) >= _MANY

    @property
    def unread(self) -> int:
        """Return how many datagrams wait to be read."""
        return len(self._unread)

    def read(self) -> Iterator[ReceivedDatagram]:
        """Yield what was fetched, in its order; count what cannot be read."""
        unread, self._unread, self._open = self._unread, [], 0
        for data, pid, uid, origin, file in unread:
            try:
                sent = datagram.decode(data)
            except datagram.DatagramError:
                self._health.count("datagrams_bad", "form")
                continue
            except (OverflowError, RecursionError):
                self._health.count("datagrams_bad", "number")
                continue
            reason = _flaw(sent, plain=data.isascii() and b"\\u" not in data)
            if not reason and len(data) > BOUNDS.name_bytes and _overlong(sent):
                reason = "name"
            sender = "udp" if uid is None else f"user {uid}"  # addresses can be made up
            if not reason and not self._jobs.admits(sender, sent.job, self._now()):
                reason = "jobs"
            if reason:
                self._health.count("datagrams_bad", reason)
                continue
            if len(data) > BOUNDS.text_bytes:
                sent = self._cut(sent)
            self._health.count("datagrams_received", origin.partition(":")[0])
            yield ReceivedDatagram(sent, pid, origin, file, uid)

    def _affordable(self, sender: int | str, size: int) -> bool:
        """Count what a sender sent in this second; return whether it leaves others their part."""
        now = self._now()
        if now >= self._window_ends:
            self._window_ends = now + _WINDOW_SECONDS
            self._by_sender, self._bytes = {}, 0
        held = self._by_sender.get(sender, 0) + size
        if held > self._most_bytes - self._bytes - size:
            return False
        self._by_sender[sender] = held
        self._bytes += size
        return True

    def _cut(self, sent: datagram.ProbeDatagram) -> datagram.ProbeDatagram:
        """Return a datagram with the beginnings of its events' texts, as logs are cut."""
        events = tuple(_within(event) for event in sent.events)
        cut = sum(one != other for one, other in zip(events, sent.events, strict=True))
        if not cut:
            return sent
        self._health.count("texts_cut", by=cut)
        return replace(sent, events=events)

    def _file(self, ancillary: list[tuple[int, int, bytes]]) -> OpenFile | None:
        """Return the file that came with a datagram, and close what else did."""
        found: OpenFile | None = None
        for level, kind, data in ancillary:
            if level != socket.SOL_SOCKET or kind != socket.SCM_RIGHTS:
                continue
            whole = len(data) - len(data) % _DESCRIPTOR.size
            for (descriptor,) in _DESCRIPTOR.iter_unpack(data[:whole]):
                if found is None and self._open < _MOST_OPEN:
                    found = OpenFile(descriptor)
                    self._open += 1
                else:
                    os.close(descriptor)
        return found


def _sender(ancillary: list[tuple[int, int, bytes]]) -> tuple[int | None, int | None]:
    """Return pid and user of who sent a datagram, None where the kernel does not say."""
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
            pid, uid, _ = _CREDENTIALS.unpack_from(data)
            return pid or None, uid  # 0: a process that our pid namespace does not hold
    return None, None


def _flaw(sent: datagram.ProbeDatagram, *, plain: bool) -> str:
    """Return why a well-formed datagram still cannot travel on, or "".

    `plain` data cannot hold half of a surrogate pair, which UTF-8, and so OTLP, cannot write.
    """
    for sample in sent.samples:
        if not 0 <= sample.at < _FAR:
            return "time"
        if sample.attributes and not all(_fits(value) for _, value in sample.attributes):
            return "number"
    for event in sent.events:
        if not 0 <= event.at < _FAR:
            return "time"
        if not all(map(_fits, event.attributes.values())):
            return "number"
    numbers = (sent.attempt or 0, sent.rank, sent.pid, sent.start_time or 0)
    if not all(map(_fits, numbers)):
        return "number"
    return "" if plain or all(map(_writable, _texts(sent))) else "text"


def _overlong(sent: datagram.ProbeDatagram) -> bool:
    """Tell whether a job, or what tells series apart, is longer than a collector takes it whole.

    So are all names of one sample together that the page would keep. The ranks of a group are no
    name, and are read at once.
    """
    names = [sent.job, sent.user]
    for sample in sent.samples:
        parts = [sample.metric]
        parts += (value for key, value in sample.attributes
                  if isinstance(value, str) and key != "ranks")  # fmt: skip
        if sum(map(len, parts)) > _LONGEST_NAMES:
            return True
        names += parts
    return any(BOUNDS.name(name) != name for name in names)


def _within(event: Event) -> Event:
    pairs = {key: BOUNDS.text(value, event.name) for key, value in event.attributes.items()}
    return replace(event, attributes=pairs)


def _fits(value: Scalar) -> bool:
    return not isinstance(value, int) or -(2**63) <= value < 2**63


def _texts(sent: datagram.ProbeDatagram) -> Iterator[Scalar]:
    yield sent.job
    for sample in sent.samples:
        yield sample.metric
        for pair in sample.attributes:
            yield from pair
    for event in sent.events:
        yield event.name
        yield from event.attributes.keys()
        yield from event.attributes.values()


def _writable(text: Scalar) -> bool:
    if not isinstance(text, str):
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
