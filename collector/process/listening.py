"""The socket the collector listens on: loopback only as long as no token protects it."""

import ipaddress
import socket
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BoundSocket:
    """A bound socket, and what to say about it. `restricted`: another address was asked for."""

    socket: socket.socket
    restricted: bool

    @property
    def address(self) -> str:
        """Return the base URL under which clients on this machine reach it."""
        host, port = self.socket.getsockname()[:2]
        if self.socket.family == socket.AF_INET6:
            host = f"[{host}]"
        return f"http://{host}:{port}"


def listen(host: str, port: int, *, protected: bool) -> BoundSocket:
    """Bind the address; without protection the loopback of the same family instead.

    Raises OSError when it is taken or not of this machine.
    """
    family, _, _, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    restricted = not protected and not ipaddress.ip_address(address[0]).is_loopback
    if restricted:
        address = ("::1" if family == socket.AF_INET6 else "127.0.0.1", port)
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError:
        bound.close()
        raise
    return BoundSocket(bound, restricted)
