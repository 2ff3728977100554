"""Kill -9 of a collector at random, and how long its jobs were without one.

A job counts as taken over when the collectors that are left answer a question about it. So that
includes everything: noticing, the lease, the snapshot, catching up, and being asked from elsewhere.
"""

import itertools
import random
import time
import urllib.error
import urllib.request
from dataclasses import dataclass

from rankscope.collector.cluster import names

from .box import ClusterBox
from .gauges import gauges

TAKEOVER_SECONDS = 240.0
"""The end of any patience; how long it took is measured."""
_EVERY_SECONDS = 0.1
_REQUEST_SECONDS = 20.0
"""Longer than a collector waits for another one, so that each question has its answer."""


@dataclass(frozen=True, slots=True)
class PartitionTakeover:
    """What was killed: a collector that owned so many partitions, with so many others left.

    `at`: when (s since the epoch). `seconds`: until the others answered for the jobs of every
    partition.
    """

    at: float
    partitions: int
    left: int
    seconds: float


def killed(box: ClusterBox, chance: random.Random) -> PartitionTakeover:
    """Kill a collector that owns partitions while another one is ready, and start it again.

    Whoever was killed before need not be back: as long as one is left, it is to carry everything.
    Raises RuntimeError where nobody takes over, or a collector ends by itself.
    """
    number, owned, left = _victim(box, chance)
    box.collectors.kill(number)
    at, began = time.time(), time.monotonic()
    of_jobs = dict(enumerate(one_job_each(box.partitions)))
    asked = itertools.cycle(left)
    while of_jobs:
        if time.monotonic() - began > TAKEOVER_SECONDS:
            raise RuntimeError(f"partitions of collector {number} not taken over: {[*of_jobs]}")
        for partition, job in list(of_jobs.items()):
            if _answered(box.collectors.ports[next(asked)], job):
                del of_jobs[partition]
        time.sleep(_EVERY_SECONDS if of_jobs else 0.0)
    took = time.monotonic() - began
    box.collectors.start(number)
    return PartitionTakeover(round(at, 2), owned, len(left), round(took, 2))


def _victim(box: ClusterBox, chance: random.Random) -> tuple[int, int, list[int]]:
    """Wait until one may be killed; return it, what it owns, and who is left to take over."""
    end = time.monotonic() + TAKEOVER_SECONDS
    while time.monotonic() < end:
        ready: list[int] = []
        for number, client in enumerate(box.collectors.clients):
            if not box.collectors.alive(number):
                raise RuntimeError(f"collector {number} ended by itself; see its log")
            if client.ready():
                ready.append(number)
        owned = {number: partitions(box.collectors.ports[number])[0] for number in ready}
        chosen = [number for number in ready if owned[number]]
        if len(ready) > 1 and chosen:
            number = chance.choice(chosen)
            return number, owned[number], [one for one in ready if one != number]
        time.sleep(_EVERY_SECONDS)
    raise RuntimeError("no two collectors were ready at once; see their logs")


def one_job_each(partitions: int) -> list[str]:
    """Return for each partition the name of a job that would be there."""
    found: dict[int, str] = {}
    for number in itertools.count():
        if len(found) == partitions:
            break
        found.setdefault(names.of_job(f"nobody-{number}", partitions), f"nobody-{number}")
    return [found[partition] for partition in range(partitions)]


def _answered(port: int, job: str) -> bool:
    """Tell whether a collector has the answer, from wherever: that there is no such job."""
    try:
        with urllib.request.urlopen(
            f"http://127.0.0.1:{port}/api/v1/jobs/{job}", timeout=_REQUEST_SECONDS
        ):
            return True
    except urllib.error.HTTPError as error:
        error.close()
        return error.code == 404
    except OSError:
        return False


def partitions(port: int) -> tuple[int, int]:
    """Return how many partitions a collector owns, and how many of them it is restoring."""
    owned, recovering = gauges(
        port, "rankscope_collector_partitions", "rankscope_collector_partitions_recovering"
    )
    return int(owned), int(recovering)
