"""The honest fleet, a process of its own: `python -m bench.hostile.honest TARGETS FILE`.

Ten senders of two hosts each; a host sends 32 samples each second, over a connection that stays
open. Beside them a process of the agent's node reports its steps to the agent. A line of FILE is an
answer: when it was asked for (s since the epoch), how long it took (s), its status (0: none; of
the process: 200 where the datagram was taken), and by whom: `fleet` or `local`.
"""

import http.client
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any, TextIO

from rankscope.formats.otlp import encode
from rankscope.vocabulary import datagram
from rankscope.vocabulary.samples import Sample, TelemetryResource, attributes

from .attacker import ANSWER_SECONDS, AttackTargets
from .local import DatagramPath

SENDERS, HOSTS_A_SENDER, RANKS_A_HOST = 10, 2, 8
JOB = "honest"
_METRICS = ("training.step", "training.loss", "training.step.duration", "hw.gpu.utilization")


def body(host: int, step: int, at: float) -> bytes:
    """Return what one host reports of a step: 32 samples."""
    first = host * RANKS_A_HOST
    samples = [
        Sample(name, float(step if name == "training.step" else 1), at, (("rank", rank),))
        for name in _METRICS
        for rank in range(first, first + RANKS_A_HOST)
    ]
    return encode.metrics_request([(TelemetryResource(f"honest-{host:02d}", JOB), samples)])


def main(targets_file: str, file: str) -> None:
    """Send until the process is ended."""
    targets = AttackTargets.read(Path(targets_file))
    out = Path(file).open("w", buffering=1, encoding="utf-8")  # noqa: SIM115  until the end
    for number in range(SENDERS):
        threading.Thread(target=_sender, args=(number, targets, out), daemon=True).start()
    _process(targets, out)


def _sender(number: int, targets: AttackTargets, out: TextIO) -> None:
    hosts = range(number * HOSTS_A_SENDER, (number + 1) * HOSTS_A_SENDER)
    headers = {**targets.headers("agents"), "content-type": "application/x-protobuf"}
    connections = {
        host: http.client.HTTPConnection(targets.http, timeout=ANSWER_SECONDS) for host in hosts
    }
    # Each begins at its own tenth of a second: what is measured is the collector, not their crowd.
    step, due = 0, float(int(time.time()) + 1) + number / SENDERS
    while True:
        time.sleep(max(0.0, due - time.time()))
        for host, connection in connections.items():
            sent = time.time()
            status = _status(connection, body(host, step, sent), headers)
            out.write(f"{sent:.4f} {time.time() - sent:.5f} {status} fleet\n")
        step, due = step + 1, max(due + 1.0, time.time() - 1.0)


def _status(connection: http.client.HTTPConnection, payload: bytes, headers: dict[str, Any]) -> int:
    try:
        connection.request("POST", "/v1/metrics", payload, headers)
        answer = connection.getresponse()
        answer.read()
    except (OSError, http.client.HTTPException):
        connection.close()
        return 0
    return answer.status


def _process(targets: AttackTargets, out: TextIO) -> None:
    """Report a step each second as the only rank of a job on the agent's node."""
    path, rank, pid = DatagramPath(targets.node(), udp=False), (("rank", 0),), os.getpid()
    info = attributes({"rank": 0, "local_rank": 0, "world_size": 1, "pid": pid})
    step = 0
    while True:
        at = time.time()
        rows = [
            Sample("training.step", float(step), at, rank),
            Sample("training.step.duration", 1.0, at, rank),
            Sample("training.rank.info", 1.0, at, info),
        ]
        sent = datagram.ProbeDatagram(
            targets.local_job, 0, 0, pid, number=step, samples=tuple(rows)
        )
        data = datagram.encode(sent)
        # As the probe: again for a while where the agent's queue is full.
        taken = any(path.send(data) for _ in range(200))
        out.write(f"{at:.4f} {time.time() - at:.5f} {200 if taken else 0} local\n")
        step += 1
        time.sleep(max(0.0, at + 1.0 - time.time()))


if __name__ == "__main__":
    main(*sys.argv[1:])
