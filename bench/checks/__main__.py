"""Active checks tried here: `python -m bench.checks [--rounds N] [--seconds N] [--slower SHARE]`.

Each round of each check measures a node, its peer, and a node with planted slowness. Printed: how
often planted slowness was found, and how often a healthy node was called slow or failed, compared
with a fleet measured at the start and with the peer of the same minute.
"""

import argparse
import os
import time

from . import rounds
from .rounds import CheckRounds


def main() -> None:
    """Run until the rounds or the time are over, and print a line a check and comparison."""
    parser = argparse.ArgumentParser(prog="python -m bench.checks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=3600.0, help="for all of it")
    parser.add_argument("--slower", type=float, default=0.1, help="share by which it is slowed")
    parser.add_argument("--repeat", type=float, default=1.0, help="seconds of repeats of a check")
    parser.add_argument("--fleet", type=int, default=12, help="hosts measured at the start")
    parser.add_argument("--only", nargs="+", choices=rounds.NAMES, default=rounds.NAMES)
    given = parser.parse_args()
    end = time.monotonic() + given.seconds
    tried = [
        CheckRounds(name, slower=given.slower, repeat_seconds=given.repeat, fleet=given.fleet)
        for name in given.only
    ]
    load = [os.getloadavg()[0]]
    for _ in range(given.rounds):
        if time.monotonic() >= end:
            break
        for one in tried:
            one.round()
        load.append(os.getloadavg()[0])
    print(f"{len(load) - 1} rounds, load {min(load):.1f} to {max(load):.1f}")
    for one in tried:
        for (compared, node), counted in sorted(one.tally.verdicts.items()):
            total = counted.total()
            bad = counted["slow"] + counted["failed"]
            word = "found" if node == "slowed" else "false verdicts"
            print(
                f"{one.name:<18} {node:<8} beside the {compared:<6} {word} {bad / total:6.1%} of "
                f"{total}, not measured {counted['not_measured'] / total:6.1%}"
            )


if __name__ == "__main__":
    main()
