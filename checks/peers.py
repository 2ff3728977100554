"""Two hosts that check each other: they meet, measure in the same minute, and exchange values.

Both run `rankscope check --peer` with the other's name. Each listens and calls; whoever is found
first keeps the store of the all-reduce. A connection lasts as long as the checks, carries numbers
and names only, and is taken from the peer's addresses alone.
"""

import contextlib
import json
import secrets
import select
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

DEFAULT_PORT = 8472
MEET_SECONDS = 20.0
"""How long the peer is waited for: two people press return on two hosts."""
_CALL_SECONDS = 1.0
_MOST_LINE = 1 << 18
_PINGS = 8


class PeerError(Exception):
    """There is no peer, or it went away; the text says which and what to do."""


@dataclass(slots=True)
class PeerConnection:
    """A connection to the peer. `first`: this host was called, and keeps the store."""

    socket: socket.socket
    first: bool
    address: str
    """Of the host that was called, as the other one reached it."""
    name: str = ""
    _held: bytearray = field(default_factory=bytearray)

    def send(self, message: Mapping[str, Any]) -> None:
        """Send an object. Raises PeerError."""
        try:
            self.socket.settimeout(_CALL_SECONDS)
            self.socket.sendall(json.dumps(message).encode() + b"\n")
        except OSError as error:
            raise PeerError(f"the peer went away: {error.strerror or error}") from None

    def receive(self, seconds: float, yielding: Callable[[], str] = lambda: "") -> dict[str, Any]:
        """Return the next object; an answer that is none, or late, raises PeerError."""
        end = time.monotonic() + seconds
        while b"\n" not in self._held:
            left = end - time.monotonic()
            if why := yielding():
                raise PeerError(why)
            if left <= 0 or len(self._held) > _MOST_LINE:
                raise PeerError(f"the peer did not answer within {seconds:.0f} s")
            ready, _, _ = select.select([self.socket], [], [], min(left, 0.2))
            if ready:
                try:
                    data = self.socket.recv(1 << 16)
                except OSError as error:
                    raise PeerError(f"the peer went away: {error.strerror or error}") from None
                if not data:
                    raise PeerError("the peer went away")
                self._held += data
        line, _, rest = bytes(self._held).partition(b"\n")
        self._held = bytearray(rest)
        try:
            found = json.loads(line)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise PeerError("what answers as the peer is no rankscope check")
        return found

    def clock_offset(self) -> float:
        """Return by how many seconds the peer's clock is ahead of this one; both sides ask."""
        if self.first:
            for _ in range(_PINGS):
                self.receive(_CALL_SECONDS)
                self.send({"at": time.time()})
            return -float(self.receive(_CALL_SECONDS).get("offset", 0.0))
        best = (float("inf"), 0.0)
        for _ in range(_PINGS):
            sent, began = time.time(), time.monotonic()
            self.send({"ping": 1})
            there = float(self.receive(_CALL_SECONDS).get("at", 0.0))
            took = time.monotonic() - began
            best = min(best, (took, there - (sent + took / 2)))
        self.send({"offset": best[1]})
        return best[1]

    def close(self) -> None:
        """End it."""
        self.socket.close()


def meet(
    peer: str,
    *,
    own_name: str,
    port: int = DEFAULT_PORT,
    call_port: int | None = None,
    seconds: float = MEET_SECONDS,
    yielding: Callable[[], str] = lambda: "",
) -> PeerConnection:
    """Return the connection to the peer, whichever side came first. Raises PeerError."""
    addresses = _addresses(peer)
    call_port = call_port or port
    identity = secrets.randbits(62)
    hello = {"rankscope": "check", "id": identity, "name": own_name}
    end = time.monotonic() + seconds
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(_listener(port))
        while time.monotonic() < end:
            if why := yielding():
                raise PeerError(why)
            called = _called(peer, call_port, hello)
            if called is not None:
                found = _agreed(called, listener, identity, hello, addresses)
                if found is not None:
                    return found
            ready, _, _ = select.select([listener], [], [], 0.3)
            if ready and (found := _taken(listener, hello, addresses, below=None)):
                return found
    raise PeerError(
        f"no peer answered at {peer}:{call_port} within {seconds:.0f} s: run `rankscope check "
        f"--peer {own_name}` there at the same time, and let hosts reach port {port} of each other"
    )


def _listener(port: int) -> socket.socket:
    try:
        return socket.create_server(("", port), backlog=4)
    except OSError as error:
        raise PeerError(
            f"port {port} is not free for the peer to call: {error.strerror or error}"
        ) from None


def _called(peer: str, port: int, hello: Mapping[str, Any]) -> PeerConnection | None:
    """Return a connection on which the hello was sent, None where nobody listens."""
    try:
        made = socket.create_connection((peer, port), _CALL_SECONDS)
    except OSError:
        return None
    found = PeerConnection(made, first=False, address=str(made.getpeername()[0]))
    try:
        found.send(hello)
    except PeerError:
        found.close()
        return None
    return found


def _agreed(
    called: PeerConnection,
    listener: socket.socket,
    identity: int,
    hello: Mapping[str, Any],
    addresses: frozenset[str],
) -> PeerConnection | None:
    """Return the connection that both keep: where both called, the call of the larger id."""
    end = time.monotonic() + _CALL_SECONDS
    while time.monotonic() < end:
        ready, _, _ = select.select([called.socket, listener], [], [], 0.2)
        if called.socket in ready:
            try:
                answer = called.receive(_CALL_SECONDS)
            except PeerError:
                break
            if answer.get("rankscope") == "check" and answer.get("taken") is True:
                called.name = str(answer.get("name", ""))[:255]
                return called
            break
        if listener in ready and (found := _taken(listener, hello, addresses, below=identity)):
            called.close()
            return found
    called.close()
    return None


def _taken(
    listener: socket.socket,
    hello: Mapping[str, Any],
    addresses: frozenset[str],
    *,
    below: int | None,
) -> PeerConnection | None:
    """Take a call of the peer; `below`: only one whose id is larger, since this side called too."""
    try:
        made, where = listener.accept()
    except OSError:
        return None
    found = PeerConnection(made, first=True, address=str(made.getsockname()[0]))
    if str(where[0]).removeprefix("::ffff:") not in addresses:
        found.close()  # nobody who was asked for
        return None
    asked: dict[str, Any] = {}
    try:
        asked = found.receive(_CALL_SECONDS)
        fits = asked.get("rankscope") == "check" and isinstance(asked.get("id"), int)
        taken = fits and (below is None or asked["id"] > below)
        found.send({**hello, "taken": taken})
    except PeerError:
        taken = False
    if not taken:
        found.close()
        return None
    found.name = str(asked.get("name", ""))[:255]
    return found


def _addresses(peer: str) -> frozenset[str]:
    """Return the addresses of a host. Raises PeerError."""
    try:
        rows = socket.getaddrinfo(peer, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise PeerError(f"the peer's name {peer} is not resolved: {error.strerror}") from None
    return frozenset(str(row[4][0]) for row in rows)
