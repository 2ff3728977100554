"""Which habits a case has, on which hosts, how much and when: drawn from a seed and its name."""

import math
import tomllib
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

FAMILIES = ("hw.network.", "hw.", "system.", "process.", "container.")
"""What exporters read; a metric is of the first of them that it begins with."""


@dataclass(frozen=True, slots=True)
class RandomHabit:
    """A row of habits.toml."""

    id: str
    why: str
    unit: str
    share: float
    hosts: float
    low: float
    high: float
    lasts: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class HostHabit:
    """A habit on one host: its amount, from when until when (epoch s), of which family of series.

    `seed` is for what is drawn of each request or series.
    """

    id: str
    host: str
    amount: float
    begin: float
    end: float
    family: str
    seed: int


@cache
def habits() -> tuple[RandomHabit, ...]:
    """Return the rows of habits.toml."""
    text = (Path(__file__).parent / "habits.toml").read_text(encoding="utf-8")
    rows = tomllib.loads(text)["habit"]
    return tuple(
        RandomHabit(**row | {"lasts": tuple(row.get("lasts", (0.0, 0.0)))}) for row in rows
    )


def drawn(seed: int, case: str, hosts: Sequence[str], begin: float, end: float) -> list[HostHabit]:
    """Return the habits of a case whose reports lie between two times (epoch s)."""
    rng = Random(zlib.crc32(f"{seed}/{case}".encode()))
    found: list[HostHabit] = []
    for row in habits():
        has, chosen = rng.random() < row.share, rng.sample(sorted(hosts), len(hosts))
        few = max(1, round(row.hosts * len(hosts) * rng.uniform(0.3, 1.0)))
        shared = row.hosts == 1.0
        span = (end - begin) * rng.uniform(0.1, 0.85)
        for number, host in enumerate(chosen):
            amount = math.exp(rng.uniform(math.log(row.low), math.log(row.high)))
            low, high = (part * (end - begin) if part <= 1.0 else part for part in row.lasts)
            lasts = rng.uniform(low, high) if high else amount
            at = begin + (span if shared else (end - begin) * rng.uniform(0.1, 0.85))
            family, own = rng.choice(FAMILIES), rng.randrange(1 << 30)
            if has and (shared or number < few):
                found.append(HostHabit(row.id, host, amount, at, at + lasts, family, own))
    return found


def family_of(metric: str) -> str:
    """Return the family of a metric, "" for what ranks report themselves."""
    return next((family for family in FAMILIES if metric.startswith(family)), "")
