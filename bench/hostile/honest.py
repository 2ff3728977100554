"""The honest sender, a process of its own: `python -m bench.hostile.honest HOST:PORT FILE`.

Twenty hosts send 32 samples each, each second, over connections that stay open. A line of FILE is
an answer: when it was asked for (s since the epoch), how long it took (s), its status (0: none).
"""

import http.client
import sys
import time
from pathlib import Path

from rankscope.formats.otlp import encode
from rankscope.vocabulary.samples import Sample, TelemetryResource

HOSTS, RANKS_A_HOST = 20, 8
_METRICS = ("training.step", "training.loss", "training.step.duration", "hw.gpu.utilization")
_TIMEOUT_SECONDS = 30.0
_HEADERS = {"content-type": "application/x-protobuf"}


def body(host: int, step: int, at: float) -> bytes:
    """Return what one host reports of a step: 32 samples."""
    first = host * RANKS_A_HOST
    samples = [
        Sample(name, float(step if name == "training.step" else 1), at, (("rank", rank),))
        for name in _METRICS
        for rank in range(first, first + RANKS_A_HOST)
    ]
    return encode.metrics_request([(TelemetryResource(f"honest-{host:02d}", "honest"), samples)])


def main(address: str, file: str) -> None:
    """Send until the process is ended."""
    connections = [
        http.client.HTTPConnection(address, timeout=_TIMEOUT_SECONDS) for _ in range(HOSTS)
    ]
    with Path(file).open("w", buffering=1, encoding="utf-8") as out:
        step, due = 0, time.time()
        while True:
            for host, connection in enumerate(connections):
                sent = time.time()
                status = _status(connection, body(host, step, sent))
                out.write(f"{sent:.4f} {time.time() - sent:.5f} {status}\n")
            step, due = step + 1, max(due + 1.0, time.time() - 1.0)
            time.sleep(max(0.0, due - time.time()))


def _status(connection: http.client.HTTPConnection, payload: bytes) -> int:
    try:
        connection.request("POST", "/v1/metrics", payload, _HEADERS)
        answer = connection.getresponse()
        answer.read()
    except (OSError, http.client.HTTPException):
        connection.close()
        return 0
    return answer.status


if __name__ == "__main__":
    main(*sys.argv[1:])
