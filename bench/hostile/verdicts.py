"""What is asked of each attack, and what was found: numbers beside their limits, worst first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

NEIGHBOURS = 5
"""Attacks before and after one whose quiet phases count as its own: a machine's minute."""
LIMITS: Mapping[str, float] = {  # docs/threats.md says what each is
    "p99 x": 2.0,
    "p99 ms": 500.0,
    "refused": 0.0,
    "lag s": 5.0,
    "memory x": 1.25,
    "left x": 1.25,
    "restart x": 1.25,
    "agent MiB": 96.0,
    "healthz s": 1.0,
    "lost": 0.0,
    "unseen": 0.1,
    "incidents": 0.0,
    "stop s": 20.0,
}


@dataclass(frozen=True, slots=True)
class AttackVerdict:
    """The numbers of one attack, by the names of LIMITS."""

    attack: str
    kind: str
    door: str
    numbers: Mapping[str, float]

    @property
    def broken(self) -> list[str]:
        """Return the names of the numbers that are over their limit, the worst first."""
        over = {name: _excess(name, value) for name, value in self.numbers.items()}
        return sorted((name for name in over if over[name] > 1.0), key=lambda name: -over[name])

    @property
    def worst(self) -> float:
        """Return the greatest number, in its limit."""
        return max(_excess(name, value) for name, value in self.numbers.items())


def verdicts(rows: Sequence[Mapping[str, Any]]) -> list[AttackVerdict]:
    """Return one for each row of results, the worst first. The row `none` has to be among them."""
    quiet = next(row for row in rows if row["attack"] == "none")
    found = [
        AttackVerdict(
            row["attack"],
            row["kind"],
            row["door"],
            _numbers(row, rows[max(0, place - NEIGHBOURS) : place + NEIGHBOURS + 1], quiet),
        )
        for place, row in enumerate(rows)
    ]
    return sorted(found, key=lambda one: -one.worst)


def _excess(name: str, value: float) -> float:
    limit = LIMITS[name]
    if not limit:
        return 1.0 + value if value else 0.0
    return value / limit


def _numbers(
    row: Mapping[str, Any], near: Sequence[Mapping[str, Any]], quiet: Mapping[str, Any]
) -> dict[str, float]:
    collector, agent = _most(row, "collector"), _most(row, "agent")
    usual = p99([ms for one in near for ms in one["before"]["took_ms"]])
    during = p99(row["during"]["took_ms"])
    own = max(row["before"]["collector"]["mib"], quiet["during"]["collector"]["mib"])
    lags = (collector["lag_seconds"], row["left"]["lag_seconds"], row["restarted"]["lag_seconds"])
    agents = (agent["mib"], row["left"]["agent_mib"], row["restarted"]["agent_mib"])
    sent = max(1, row["local_sent"])
    return {
        "p99 x": round(during / usual, 1) if usual else 0.0,
        "p99 ms": round(during, 1),
        "refused": row["during"]["refused"] + row["after"]["refused"],
        "lag s": round(max(lags), 1),
        "memory x": round(collector["mib"] / own, 2),
        "left x": round(row["left"]["mib"] / max(own, quiet["left"]["mib"]), 2),
        "restart x": round(row["restarted"]["mib"] / max(own, quiet["restarted"]["mib"]), 2),
        "agent MiB": max(agents),
        "healthz s": agent["answer_seconds"],
        "lost": row["lost"],
        "unseen": round(max(0.0, 1.0 - row["local_seen"] / sent), 2),
        "incidents": len(row["incidents"]),
        "stop s": max(row["stopped"].values()),
    }


def p99(took_ms: Sequence[float]) -> float:
    """Return the quantile, 0 of nothing."""
    return float(np.quantile(took_ms, 0.99)) if took_ms else 0.0


def _most(row: Mapping[str, Any], program: str) -> dict[str, float]:
    phases = (row["during"][program], row["after"][program])
    return {name: max(one[name] or 0.0 for one in phases) for name in phases[0]}
