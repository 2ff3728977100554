"""A link between two hosts: a TCP proxy that delivers what it receives, later if ordered.

`python -m rankscope.lab.jobs.link PORT TARGET` listens on PORT and connects to TARGET, both on the
loopback, until whoever started it is gone. Delay changes no order and loses nothing.
"""

import contextlib
import os
import queue
import socket
import sys
import threading
import time
from pathlib import Path

from . import orders

MECHANISM = "slow-link"
DELAY_SECONDS = 0.03
_CHUNK = 1 << 16


class SlowLink:
    """Relays connections; `delay` seconds lie between receiving and sending on."""

    def __init__(self, port: int, target: int) -> None:
        """Listen on a port of the loopback; nothing is accepted before `serve`."""
        self.delay = 0.0
        self._target = target
        self._open: list[socket.socket] = []
        self._server = socket.create_server(("127.0.0.1", port))
        self.port = int(self._server.getsockname()[1])

    def serve(self) -> None:
        """Accept until `close`."""
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._server.accept()
                threading.Thread(target=self._connect, args=(near,), daemon=True).start()

    def close(self) -> None:
        """Accept nothing more, and cut every connection."""
        for end in (self._server, *self._open):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _connect(self, near: socket.socket) -> None:
        self._open.append(near)
        deadline = time.monotonic() + 60.0  # the target starts at the same time
        while True:
            try:
                far = socket.create_connection(("127.0.0.1", self._target))
                break
            except OSError:
                if time.monotonic() > deadline:
                    near.close()
                    return
                time.sleep(0.05)
        self._open.append(far)
        for source, sink in ((near, far), (far, near)):
            source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            waiting: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()
            threading.Thread(target=self._receive, args=(source, waiting), daemon=True).start()
            threading.Thread(target=_deliver, args=(waiting, sink), daemon=True).start()

    def _receive(
        self, source: socket.socket, waiting: "queue.SimpleQueue[tuple[float, bytes]]"
    ) -> None:
        data = b"first"
        while data:
            try:
                data = source.recv(_CHUNK)
            except OSError:
                data = b""
            waiting.put((time.monotonic() + self.delay, data))


def _deliver(waiting: "queue.SimpleQueue[tuple[float, bytes]]", sink: socket.socket) -> None:
    """Send what is due, in order; nothing more once the other end has closed."""
    while True:
        due, data = waiting.get()
        time.sleep(max(0.0, due - time.monotonic()))
        try:
            if not data:
                sink.shutdown(socket.SHUT_RDWR)
                return
            sink.sendall(data)
        except OSError:
            return


def main(port: int, target: int, order: Path | None) -> None:
    """Serve until the process that started this one is gone."""
    starter, link = os.getppid(), SlowLink(port, target)
    threading.Thread(target=link.serve, daemon=True).start()
    while os.getppid() == starter:
        if not link.delay and order is not None:
            link.delay = DELAY_SECONDS if orders.given(order, MECHANISM) else 0.0
        time.sleep(0.1)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), orders.file(os.environ))
