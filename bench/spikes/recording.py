"""A socket in the place of an agent: what the probes of a run send, as lines of OTLP."""

import socket
import threading
from pathlib import Path

from rankscope.vocabulary import datagram

from ..otlp_lines import (
    attributes_text,
    log_request,
    metrics_request,
    point_head,
    point_text,
    resource_text,
)

HOST = "host-0"


class ProbeRecorder:
    """Receives datagrams until it is closed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self._socket.bind(str(path))
        self.received: list[datagram.ProbeDatagram] = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening, once all is read that was sent."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
            end.sendto(b"", str(self.path))
        self._thread.join()
        self._socket.close()
        self.path.unlink(missing_ok=True)

    def _read(self) -> None:
        while data := self._socket.recv(datagram.LARGEST + 1):
            self.received.append(datagram.decode(data))


def write(path: Path, received: list[datagram.ProbeDatagram]) -> None:
    """Write a recording that `rankscope replay` reads."""
    lines: list[tuple[float, str]] = []
    for one in received:
        resource = resource_text(
            [
                ("service.name", "rankscope"),
                ("host.name", HOST),
                ("rankscope.job.id", one.job),
                ("rankscope.job.attempt", one.attempt or 0),
            ]
        )
        points: dict[str, list[str]] = {}
        for sample in one.samples:
            head = point_head(attributes_text(sample.attributes))
            points.setdefault(sample.metric, []).append(point_text(head, sample.at, sample.value))
        if points:
            at = max(sample.at for sample in one.samples)
            lines.append((at, metrics_request([(resource, points)])))
        for event in one.events:
            text = log_request(resource, event.name, event.at, list(event.attributes.items()))
            lines.append((event.at, text))
    lines.sort(key=lambda line: line[0])
    path.write_text("".join(f"{line}\n" for _, line in lines))
