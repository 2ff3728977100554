"""An all-reduce over sockets: everybody sends to rank 0, which adds up and sends the sum back.

Numpy and the standard library only, so that a real data-parallel job runs where torch is not.
Ranks are added in order, so that the sum has the same bits whoever arrives first.
"""

import contextlib
import socket
import struct
import time

import numpy as np
from numpy.typing import NDArray

_HEADER = struct.Struct("<i")
_LENGTH = struct.Struct("<q")


class PeerLostError(ConnectionError):
    """A peer went away in the middle of a collective."""


class StarEnd:
    """One rank's end of the star. Raises PeerLostError when another end closes."""

    def __init__(
        self, *, rank: int, world: int, address: str, port: int, patience: float = 60.0
    ) -> None:
        """Meet the other ranks; TimeoutError when they do not come within `patience` seconds."""
        self._rank, self._world = rank, world
        self._peers: dict[int, socket.socket] = {}
        deadline = time.monotonic() + patience
        if rank == 0:
            with socket.create_server((address, port)) as server:
                while len(self._peers) < world - 1:
                    server.settimeout(max(0.1, deadline - time.monotonic()))
                    peer, _ = server.accept()
                    peer.settimeout(None)
                    (number,) = _HEADER.unpack(_receive(peer, _HEADER.size))
                    self._peers[number] = _quick(peer)
        else:
            self._peers[0] = _quick(_connect(address, port, deadline))
            self._peers[0].sendall(_HEADER.pack(rank))

    def all_reduce(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the sum over all ranks; every rank gets the same bits."""
        if self._rank:
            _send(self._peers[0], values.tobytes())
            return _take(self._peers[0], values)
        total = values.copy()
        for rank in range(1, self._world):
            total += _take(self._peers[rank], values)
        for rank in range(1, self._world):
            _send(self._peers[rank], total.tobytes())
        return total

    def gather(self, data: bytes) -> list[bytes]:
        """Return what every rank sent, on rank 0; nothing on the others."""
        if self._rank:
            _send(self._peers[0], data)
            return []
        return [data, *(_take_bytes(self._peers[rank]) for rank in range(1, self._world))]

    def finish(self) -> None:
        """Wait until rank 0 has ended too; rank 0 waits for nobody."""
        if self._rank:
            with contextlib.suppress(OSError):
                while self._peers[0].recv(1 << 16):
                    pass

    def close(self) -> None:
        for peer in self._peers.values():
            peer.close()


def _quick(peer: socket.socket) -> socket.socket:
    """Return the socket, sending small messages at once."""
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return peer


def _connect(address: str, port: int, deadline: float) -> socket.socket:
    while True:
        try:
            peer = socket.create_connection((address, port), timeout=5)
        except OSError:
            if time.monotonic() > deadline:
                raise TimeoutError(f"nobody at {address}:{port}") from None
            time.sleep(0.05)
        else:
            peer.settimeout(None)
            return peer


def _send(peer: socket.socket, data: bytes) -> None:
    try:
        peer.sendall(_LENGTH.pack(len(data)) + data)
    except OSError as error:
        raise PeerLostError(f"Connection closed by peer: {error}") from error


def _take(peer: socket.socket, like: NDArray[np.float32]) -> NDArray[np.float32]:
    (length,) = _LENGTH.unpack(_receive(peer, _LENGTH.size))
    if length != like.nbytes:
        raise PeerLostError(f"a peer sent {length} bytes where {like.nbytes} were due")
    return np.frombuffer(_receive(peer, length), dtype=np.float32).reshape(like.shape)


def _take_bytes(peer: socket.socket) -> bytes:
    (length,) = _LENGTH.unpack(_receive(peer, _LENGTH.size))
    return _receive(peer, length)


def _receive(peer: socket.socket, length: int) -> bytes:
    whole = bytearray()
    while len(whole) < length:
        try:
            part = peer.recv(length - len(whole))
        except OSError as error:
            raise PeerLostError(f"Connection closed by peer: {error}") from error
        if not part:
            raise PeerLostError("Connection closed by peer")
        whole += part
    return bytes(whole)
