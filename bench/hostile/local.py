"""What a process on the agent's node does: datagrams, followed log files, locks of others.

Each function makes one payload, `number` counts them; `node` says where things are.
"""

import contextlib
import fcntl
import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankscope.vocabulary import datagram
from rankscope.vocabulary.samples import Event, Sample, Scalar, TelemetryResource, attributes

from .payloads import JOB

_LINE = b"step 10 loss 2.3 NCCL WARN x "


@dataclass(frozen=True, slots=True)
class AttackedNode:
    """Where the agent of the node is reached."""

    socket: Path
    udp: str
    """HOST:PORT."""
    job: str
    """Of an honest process on it."""
    folder: Path
    """Of socket and spool."""
    logs: Path
    """Whose files *.log are followed."""


class DatagramPath:
    """A socket to the agent. What is not taken is given up, as the probe does."""

    def __init__(self, node: AttackedNode, *, udp: bool) -> None:
        self.job = node.job
        host, _, port = node.udp.rpartition(":")
        self._to: Any = (host, int(port)) if udp else str(node.socket)
        self._socket = socket.socket(socket.AF_INET if udp else socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)

    def close(self) -> None:
        """Let go of the socket."""
        self._socket.close()

    def send(self, data: bytes) -> bool:
        """Tell whether it was taken."""
        try:
            self._socket.sendto(data, self._to)
        except BlockingIOError:
            time.sleep(0.001)  # the queue is full: whoever floods would only heat the machine
            return False
        except OSError:
            time.sleep(0.01)
            return False
        return True


def datagrams(path: DatagramPath, number: int, *, style: str) -> bool:
    """Send one datagram of a process that is, or says that it is, of some job."""
    job, rank, pid, at = JOB, 0, os.getpid(), time.time()
    rows = [Sample("training.loss", 2.0, at, (("rank", 0),))]
    if style == "large":
        rows = rows * 1_000
    elif style == "names":
        named: dict[str, Scalar] = {"rank": 0, "name": f"{number}-".ljust(500, "n")}
        rows = [Sample(f"hostile.{number}.".ljust(500, "n"), 2.0, at, attributes(named))]
    elif style == "jobs":
        job = f"{JOB}-{number}"
    elif style == "ranks":
        rank, pid = number, 100_000 + number
        rows = [Sample("training.loss", 2.0, at, (("rank", rank),))]
    elif style == "attach":
        return _attached(path, number)
    return path.send(_encoded(job, rank, pid, number, rows))


def claimed(path: DatagramPath, number: int, *, style: str) -> bool:
    """Send what a process cannot know, or what it says of the ranks of another's job."""
    at, pid = time.time(), os.getpid()
    made: dict[str, list[Event]] = {
        "observer": [
            Event("host.oom_kill", at, {"pid": pid, "rank": 0}),
            Event("gpu.fault", at, {"hw.id": "GPU-0", "code": 79, "vendor": "nvidia", "text": "x"}),
            Event("process.exit", at, {"rank": 0, "pid": pid, "exit_code": 1, "signal": 9}),
            Event("agent.lifecycle", at, {"phase": "shutdown"}),
        ],
        "ranks": [
            Event("training.numeric", at, {"rank": rank, "step": 3, "what": "loss", "value": "NaN"})
            for rank in range(8)
        ]
        + [_fault(rank) for rank in range(8)],
    }
    return path.send(_encoded(path.job, number % 8, pid, number, [], made[style]))


def log_files(node: AttackedNode, number: int, *, style: str, files: int) -> bool:
    """Write once to one of so many followed files."""
    file = node.logs / f"hostile-{number % files}.log"
    if style == "many":
        for one in range(files):
            with (node.logs / f"hostile-{one}.log").open("ab") as out:
                out.write(b"step %d loss 2.3 grad_norm 1.0\n" % number)
        return True
    if style == "rotating" and number >= files:
        file.replace(file.with_suffix(".old"))
    if file.exists() and file.stat().st_size > 500_000_000:
        file.unlink()  # a disk is nobody's guard
    content = {"line": _LINE * 180_000 + b"\n", "endless": _LINE * 36_000}.get(style, _LINE + b"\n")
    with file.open("ab") as out:
        out.write(content)
    return True


def locks(node: AttackedNode, number: int) -> bool:
    """Take every lock below the folder that can be taken, and put a link in the socket's place."""
    taken = False
    for file in node.folder.rglob("*"):
        with contextlib.suppress(OSError):
            place = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
            fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)  # held: never closed
            taken = True
    with contextlib.suppress(OSError):
        node.socket.unlink()
        node.socket.symlink_to("/dev/null")
        taken = True
    del number
    return taken


def _attached(path: DatagramPath, number: int) -> bool:
    """Start a process that attaches as a rank of a job and ends at once."""
    child = os.fork()
    if child == 0:
        info = attributes(
            {"rank": number % 1_000, "local_rank": 0, "world_size": 1_000, "pid": os.getpid()}
        )
        rows = [Sample("training.rank.info", 1.0, time.time(), info)]
        path.send(_encoded(JOB, number % 1_000, os.getpid(), 0, rows))
        os._exit(1)
    os.waitpid(child, 0)
    return True


def _fault(rank: int) -> Event:
    said: dict[str, Scalar] = {"signature": "nccl.timeout", "role": "root", "rank": rank}
    return Event("log.fault", time.time(), {**said, "text": "x"}, TelemetryResource(""))


def _encoded(
    job: str,
    rank: int,
    pid: int,
    number: int,
    rows: list[Sample],
    events: list[Event] | None = None,
) -> bytes:
    made = datagram.ProbeDatagram(
        job=job,
        attempt=0,
        rank=rank,
        pid=pid,
        number=number,
        samples=tuple(rows),
        events=tuple(events or ()),
    )
    return datagram.encode(made)[: datagram.LARGEST]


LOCAL: dict[str, Callable[..., bool]] = {
    made.__name__: made for made in (datagrams, claimed, log_files, locks)
}
