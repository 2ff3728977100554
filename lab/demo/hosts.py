"""The demo's hosts: disjoint CPUs of this one machine, each set with its own name and agent."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

RANKS_PER_HOST = 2
NEIGHBOURS_PER_CPU = 12
"""Enough that a rank's fair share of its CPU is well below what it needs (about a sixth)."""


@dataclass(frozen=True, slots=True)
class DemoHost:
    """A host of the demo. `cpus` empty: not separated by CPU but by `nice` levels."""

    name: str
    ranks: tuple[int, ...]
    cpus: tuple[int, ...] = ()
    nice: int = 0
    neighbours: int = NEIGHBOURS_PER_CPU
    neighbours_nice: int = 0


def usable_cpus() -> tuple[int, ...]:
    """Return the CPUs this process may run on."""
    return tuple(sorted(os.sched_getaffinity(0)))


def divide(cpus: Sequence[int]) -> tuple[tuple[DemoHost, ...], str]:
    """Return two hosts over these CPUs, and how they were separated, in words.

    Two CPUs each at most: the rest of the machine stays free for whoever sits in front of it.
    """
    names = ("demo-a", "demo-b")
    ranks = [
        tuple(range(number * RANKS_PER_HOST, (number + 1) * RANKS_PER_HOST)) for number in (0, 1)
    ]
    if len(cpus) < 2:
        # One CPU cannot be two hosts; priorities can at least make one of them suffer alone. The
        # second host yields to the neighbours, and the neighbours to the first.
        return (
            (DemoHost(names[0], ranks[0]), DemoHost(names[1], ranks[1], (), 12, 4, 6)),
            "one CPU for both hosts, separated by nice levels only (this machine has no second)",
        )
    each = min(2, len(cpus) // 2)
    hosts = tuple(
        DemoHost(
            name,
            ranks[number],
            tuple(cpus[number * each : (number + 1) * each]),
            neighbours=NEIGHBOURS_PER_CPU * each,
        )
        for number, name in enumerate(names)
    )
    named = "; ".join(f"{host.name} on CPU {', '.join(map(str, host.cpus))}" for host in hosts)
    return hosts, named
