"""Connections that are held rather than used: to the collector, its gRPC, or the agent's page."""

import contextlib
import socket
import time
from collections.abc import Callable, Mapping

_GRPC_START = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""HTTP/2's preface and empty settings."""

_BODY = 1_000_000
_PIPELINED = 2_000


def _head(method: str, path: str, more: Mapping[str, str]) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "host: x", *(f"{a}: {b}" for a, b in more.items())]
    return "\r\n".join((*lines, "", "")).encode()


def _body_head(right: Mapping[str, str]) -> bytes:
    kind = {"content-type": "application/x-protobuf", "content-length": str(_BODY)}
    return _head("POST", "/v1/logs", {**right, **kind})


STYLES: dict[str, Callable[[Mapping[str, str]], bytes]] = {
    "idle": lambda _: b"",
    "half head": lambda _: b"GET /metrics HTTP/1.1\r\nhost: ",
    "half body": lambda right: _body_head(right) + b"\0" * (_BODY // 2),
    "drip": _body_head,
    "pipelined": lambda right: _head("GET", "/healthz", right) * _PIPELINED,
    "untaken": lambda right: _head("GET", "/metrics", right) * 200,
    "events": lambda right: _head("GET", "/api/v1/events", right),
    "reconnect": lambda right: _head("GET", "/healthz", right),
    "grpc": lambda _: _GRPC_START,
}


def hold(
    address: str,
    right: Mapping[str, str],
    *,
    style: str,
    count: int,
    until: float,
    pause_seconds: float,
) -> dict[str, int]:
    """Hold so many connections until a time, each opened again once it is closed; count both.

    right: the header of its token. A drip sends a byte each pause, `reconnect` closes all.
    """
    host, _, port = address.rpartition(":")
    start = STYLES[style](right)
    held: list[socket.socket | None] = [None] * count
    done = {"opened": 0, "closed": 0, "refused": 0}
    while time.time() < until:
        round_ends = time.monotonic() + pause_seconds
        for place, one in enumerate(held):
            if time.time() >= until:
                break
            if one is not None and (style == "reconnect" or not _open(one, drip=style == "drip")):
                one.close()
                held[place] = one = None
                done["closed"] += 1
            if one is None:
                held[place] = _opened(host, int(port), start)
                done["opened" if held[place] is not None else "refused"] += 1
        time.sleep(max(0.0, min(round_ends - time.monotonic(), until - time.time())))
    for rest in held:
        if rest is not None:
            rest.close()
    return done


def _opened(host: str, port: int, start: bytes) -> socket.socket | None:
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    made.settimeout(0.5)
    try:
        made.connect((host, port))
        with contextlib.suppress(TimeoutError):
            made.sendall(start)
    except OSError:
        made.close()
        return None
    made.setblocking(False)
    return made


def _open(one: socket.socket, *, drip: bool) -> bool:
    """Tell whether the other side still holds it, without taking an answer; drip: send a byte."""
    try:
        if drip:
            one.send(b"\0")
        return one.recv(1, socket.MSG_PEEK) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False
