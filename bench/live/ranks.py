"""The ranks of a simulated job as processes that report to agents: one process a rank, real time.

    python -m bench.live.ranks '{"sockets": ["/run/a.sock"], "devices": [["GPU-.."]], ...}'

Each sends, by the probe's datagrams, what the simulator computed of its rank. The agents find real
processes and read their memory and CPU time as they would of any job.
"""

import json
import math
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, NoReturn

from rankscope.lab.simulator import placement
from rankscope.lab.simulator.recording import simulate
from rankscope.lab.simulator.series import SimulatedSeries
from rankscope.lab.simulator.shape import (
    ReportingHabits,
    SimulatedCluster,
    SimulatedJob,
    SimulationScenario,
)
from rankscope.vocabulary import datagram
from rankscope.vocabulary.samples import Sample, attributes

JOB = "llama-70b"
_SENT = ("training.", "collective.")


@dataclass(frozen=True, slots=True)
class LiveOrders:
    """What to run. `sockets`: the agent of each host. `devices`: [hosts][slots] GPU ids.

    `onset`: when (host, place) grows hot, in seconds from the start; `at`: the start, s since the
    epoch.
    """

    sockets: Sequence[str]
    devices: Sequence[Sequence[str]]
    at: float
    seconds: float
    onset: float
    host: int
    place: int
    step_seconds: float = 1.0
    seed: int = 7

    def scenario(self) -> SimulationScenario:
        """Return the simulator's scenario: tensor-parallel pairs, data-parallel over the rest."""
        slots = len(self.devices[0])
        job = SimulatedJob(
            name=JOB,
            tp=2,
            step_seconds=self.step_seconds,
            init_seconds=2,
            compile_seconds=1,
            warm_up_steps=1,
            local_norms=True,
            checkpoint_every=30,
            checkpoint_seconds=1,
            variable_length=0.05,
        )
        heat = {"kind": "thermal_throttle", "onset": self.onset, "host": self.host}
        return SimulationScenario(
            name="live",
            text="one device of a live cluster grows hot",
            seconds=self.seconds,
            cluster=SimulatedCluster(hosts=len(self.devices), slots=slots, nics=slots),
            jobs=(job,),
            reporting=ReportingHabits(collective_statistics=True, rank=2.0),
            fault={**heat, "place": self.place, "clock": 0.55, "ramp": 2.0},
            also={"kind": "loss_spike", "onset": self.onset + 5.0},
        )


def host_names(count: int) -> list[str]:
    """Return what the simulator calls the hosts."""
    return [placement.host_name(host) for host in range(count)]


def main(text: str) -> int:
    """Start every rank and wait until all have ended."""
    orders = LiveOrders(**json.loads(text))
    by_rank: dict[tuple[int, int], list[SimulatedSeries]] = {}
    for series in simulate(orders.scenario(), orders.seed).series:
        rank = dict(series.attributes).get("rank")
        if series.metric.startswith(_SENT) and isinstance(rank, int):
            by_rank.setdefault((series.host, rank), []).append(series)
        elif series.metric == "collective.group.info":
            first = int(str(dict(series.attributes)["ranks"]).partition(",")[0].partition("-")[0])
            by_rank.setdefault((series.host, first), []).append(series)
    children = [_child(orders, *key, rows) for key, rows in sorted(by_rank.items())]
    signal.signal(signal.SIGTERM, lambda *_: _end(children))
    for child in children:
        os.waitpid(child, 0)
    return 0


def _end(children: Sequence[int]) -> NoReturn:
    for child in children:
        os.kill(child, signal.SIGKILL)
    os._exit(0)


def _child(orders: LiveOrders, host: int, rank: int, rows: Sequence[SimulatedSeries]) -> int:
    """Return the pid of a process that sends what one rank has to report."""
    child = os.fork()
    if child:
        return child
    try:
        _send(orders, host, rank, rows)
    finally:
        os._exit(0)


def _send(orders: LiveOrders, host: int, rank: int, rows: Sequence[SimulatedSeries]) -> None:
    line = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    line.connect(orders.sockets[host])
    device = orders.devices[host][rank % len(orders.devices[host])]
    points = sorted(_points(rows, device), key=lambda sample: sample.at)
    for number, (at, samples) in enumerate(groupby(points, key=lambda sample: sample.at)):
        time.sleep(max(0.0, orders.at + at - time.time()))
        now = orders.at + at
        sent = tuple(replace(sample, at=now) for sample in samples)
        line.send(
            datagram.encode(datagram.ProbeDatagram(JOB, 0, rank, os.getpid(), number, samples=sent))
        )


def _points(rows: Sequence[SimulatedSeries], device: str) -> Iterator[Sample]:
    for row in rows:
        pairs: dict[str, Any] = dict(row.attributes)
        if row.metric == "training.rank.info":
            pairs |= {"hw.id": device, "pid": os.getpid()}
        own = attributes(pairs)
        for at, value in zip(row.at.tolist(), row.value.tolist(), strict=True):
            yield Sample(row.metric, value if math.isfinite(value) else math.nan, at, own)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
