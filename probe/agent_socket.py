"""One datagram socket to the agent, opened when the agent is there, reopened when stale.

Never waits: a full receiver or an absent one is an answer (False), not an exception.
"""

import errno
import select
import socket
from collections.abc import Mapping
from pathlib import Path

from ..vocabulary import udp_keys
from ..vocabulary.addresses import agent_address

_RETRY_SECONDS = 1.0
_FULL = {errno.EAGAIN, errno.EWOULDBLOCK, errno.ENOBUFS}


class AgentSocket:
    """A non-blocking datagram socket to the address that RANKSCOPE_AGENT names.

    `path` is the agent's Unix socket once it was there, None over UDP.
    Raises ValueError when the variable makes no sense, or its key cannot be read; later trouble is
    counted, not raised.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._scheme, self._target = agent_address(environ)
        key_file = environ.get(udp_keys.VARIABLE) if self._scheme == "udp" else None
        self._key = udp_keys.read(Path(key_file)) if key_file else None
        self._socket: socket.socket | None = None
        self._next_try = 0.0
        self.refused = 0
        self.path: Path | None = None

    def open(self, now: float) -> bool:
        """Return whether the agent's socket is connected, trying at most once a second."""
        if self._socket is not None:
            return True
        # A clock set back must not keep the socket closed for as long as it was set back.
        if 0 <= self._next_try - now <= _RETRY_SECONDS:
            return False
        self._next_try = now + _RETRY_SECONDS
        self._socket = self._connect()
        return self._socket is not None

    @property
    def connected(self) -> bool:
        """Whether there was an agent at the last try."""
        return self._socket is not None

    def writable(self) -> bool:
        """Return whether a datagram would be taken now."""
        if self._socket is None:
            return False
        # poll, not select: a training process may hold more than 1,024 descriptors.
        poll = select.poll()
        poll.register(self._socket, select.POLLOUT)
        return bool(poll.poll(0))

    def send(self, data: bytes, descriptor: int | None = None) -> bool:
        """Send one datagram; False when it was not taken. A stale socket is closed.

        `descriptor` is an open file that the agent gets too; over UDP it stays here.
        """
        if self._socket is None:
            return False
        if self._key is not None:
            data += udp_keys.signature(data, self._key)
        try:
            if descriptor is None or self._scheme != "unix":
                self._socket.send(data)
            else:
                socket.send_fds(self._socket, [data], [descriptor])
        except OSError as error:
            self.refused += 1
            if error.errno not in _FULL and error.errno != errno.EMSGSIZE:
                self.close()
            return False
        return True

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _connect(self) -> socket.socket | None:
        if self._scheme == "unix":
            for path in self._target:
                found = _try(socket.AF_UNIX, str(path))
                if found is not None:
                    self.path = Path(str(path))
                    return found
            return None
        try:
            host, port = self._target
            choices = socket.getaddrinfo(str(host), int(str(port)), type=socket.SOCK_DGRAM)
        except OSError:
            return None
        for family, _type, _protocol, _name, address in choices:
            found = _try(family, address)
            if found is not None:
                return found
        return None


def _try(family: int, address: object) -> socket.socket | None:
    made = socket.socket(family, socket.SOCK_DGRAM)
    try:
        made.setblocking(False)
        made.connect(address)  # type: ignore[arg-type]
    except OSError:
        made.close()
        return None
    return made
