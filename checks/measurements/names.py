"""Names and connections: what a job's processes need before they can meet."""

import socket
import time

from .rows import CheckOrder, MeasuredRow

_TRIES = 5
_CONNECT_SECONDS = 3.0


def resolution(order: CheckOrder) -> list[MeasuredRow]:
    """Return the seconds until each of the names is resolved, the slowest name."""
    slowest: tuple[float, ...] = ()
    for name in order.names:
        try:
            samples = tuple(_resolved(name) for _ in range(_TRIES))
        except OSError as error:
            return [MeasuredRow(name, failed=f"{name} is not resolved: {error.strerror or error}")]
        slowest = max(slowest, samples, key=lambda found: sorted(found)[len(found) // 2 :][:1])
    if not slowest:
        return [MeasuredRow("dns", missing="there is no name to resolve")]
    return [MeasuredRow("dns", slowest)]


def connection(order: CheckOrder) -> list[MeasuredRow]:
    """Return the seconds of a connection to this host by its name, a byte there and back."""
    name = order.names[0] if order.names else socket.gethostname()
    try:
        samples = tuple(_there_and_back(name) for _ in range(_TRIES))
    except OSError as error:
        why = f"no connection to {name}, the name of this host: {error.strerror or error}"
        return [MeasuredRow("tcp", failed=why)]
    return [MeasuredRow("tcp", samples)]


def _resolved(name: str) -> float:
    before = time.monotonic()
    socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    return time.monotonic() - before


def _there_and_back(name: str) -> float:
    before = time.monotonic()
    family, *_, address = socket.getaddrinfo(name, 0, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.settimeout(_CONNECT_SECONDS)
        listener.bind(address)
        listener.listen(1)
        with socket.create_connection(listener.getsockname()[:2], _CONNECT_SECONDS) as near:
            far, _ = listener.accept()
            with far:
                far.settimeout(_CONNECT_SECONDS)
                near.sendall(b"x")
                far.sendall(far.recv(1))
                near.recv(1)
    return time.monotonic() - before
