"""Active checks tried here: `python -m bench.checks [--only NAME ...] [--seconds N]`.

Each round of each check measures a node as `rankscope check` does, after its peer, and in every
so-manyth round nodes with planted slowness. Printed, by check and by what was compared with (a
fleet measured at the start, the peer of the same minute): how often planted slowness was found, how
often a healthy node was called slow or failed, and how often either was not measured.
"""

import argparse
import os
import statistics
import time

from rankscope.checks import node_checks

from . import rounds
from .rounds import CheckRounds

_HEAD = "check              beside  slower  really  runs  found  false  not measured  seconds"


def main() -> None:
    """Run until the rounds or the time are over, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.checks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=3600.0, help="for all of it")
    parser.add_argument(
        "--slower", type=float, nargs="+", default=[0.05, 0.1, 0.2], help="planted shares"
    )
    parser.add_argument(
        "--planted-every",
        type=int,
        default=1,
        metavar="N",
        help="rounds from one planted to the next",
    )
    parser.add_argument(
        "--repeat",
        type=float,
        default=node_checks.REPEAT_SECONDS,
        help="seconds of repeats at least",
    )
    parser.add_argument("--fleet", type=int, default=12, help="hosts measured at the start")
    parser.add_argument("--only", nargs="+", choices=rounds.NAMES, default=rounds.NAMES)
    given = parser.parse_args()
    end = time.monotonic() + given.seconds
    tried = [
        CheckRounds(name, slower=given.slower, seconds=given.repeat, fleet=given.fleet)
        for name in given.only
    ]
    load = [os.getloadavg()[0]]
    for number in range(given.rounds):
        if time.monotonic() >= end:
            break
        for one in tried:
            one.round(planted=number % given.planted_every == 0)
        load.append(os.getloadavg()[0])
    print(f"{len(load) - 1} rounds, load {min(load):.1f} to {max(load):.1f}\n{_HEAD}")
    for one in tried:
        _print(one)


def _print(one: CheckRounds) -> None:
    """Print a line for each share and comparison; `really`: by how much lower the rates were."""
    tally = one.tally
    healthy = statistics.median(tally.values.get(0.0, [float("nan")]))
    for (compared, share), counted in sorted(tally.verdicts.items()):
        total = counted.total()
        bad = f"{(counted['slow'] + counted['failed']) / total:.1%}"
        lower = 1 - statistics.median(tally.values.get(share, [float("nan")])) / healthy
        print(
            f"{one.name:<18} {compared:<6}  {share:5.0%}  {lower:6.1%}  {total:4d}  "
            f"{bad if share else '':>6} {'' if share else bad:>6}  "
            f"{counted['not_measured'] / total:12.1%}  {statistics.median(tally.seconds):7.1f}"
        )
    for reason, times in tally.reasons.most_common(5):
        print(f"    {times} x healthy, beside the {reason}")


if __name__ == "__main__":
    main()
