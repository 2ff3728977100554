"""What hostile senders cost honest ones: `python -m bench.hostile [--only NAME] [--seconds N]`.

Each attack of the table meets a collector and an agent of its own, beside an honest fleet. Each
pair idles on for five minutes while the next attacks run, and is then started again. JSON goes to a
file, the verdicts to the terminal, worst first; `python -m bench.hostile.page FILE` makes the
page's table of it. With `--cluster` each meets three
collectors over NATS and PostgreSQL behind a load balancer. Nothing is asserted.
"""

import argparse
import contextlib
import json
import os
import shlex
import signal
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .attacks import HostileAttack, attacks
from .collectors import COLLECTORS
from .site import AttackSite
from .verdicts import verdicts


def main() -> int:
    """Run the attacks one by one, and none first."""
    parser = argparse.ArgumentParser(prog="python -m bench.hostile", description=__doc__)
    parser.add_argument("--only", action="append", default=[], help="an attack, a kind or a door")
    parser.add_argument("--seconds", type=float, default=12.0, help="that an attack lasts")
    parser.add_argument(
        "--wait", type=float, default=300.0, help="seconds from its end until what is left is read"
    )
    parser.add_argument(
        "--program",
        default=str(Path(sys.executable).with_name("rankscope")),
        help="the command that is attacked: that of another build, to compare",
    )
    parser.add_argument(
        "--cluster", action="store_true", help="three collectors with NATS and PostgreSQL"
    )
    parser.add_argument("--out", type=Path, help="default: bench-results/hostile-<time>.json")
    asked = parser.parse_args()
    chosen = [one for one in attacks() if not asked.only or {*asked.only} & _named(one)]
    out = asked.out or Path("bench-results") / f"hostile-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # leaving ends what was started
    began = time.monotonic()
    program = shlex.split(asked.program)
    rows: list[dict[str, Any]] = []
    found = run(
        chosen, program, seconds=asked.seconds, wait_seconds=asked.wait, cluster=asked.cluster
    )
    for row in found:
        rows.append(row)
        result = {
            "at": f"{datetime.now(UTC):%Y-%m-%d}",
            "cores": os.cpu_count(),
            "seconds": asked.seconds,
            "wait_seconds": asked.wait,
            "collectors": COLLECTORS if asked.cluster else 1,
            "minutes": round((time.monotonic() - began) / 60, 1),
            "rows": rows,
        }
        out.write_text(json.dumps(result) + "\n", encoding="utf-8")
    for one in verdicts(rows):
        said = "; ".join(f"{name} {one.numbers[name]:g}" for name in one.broken) or "as asked"
        print(f"{one.attack:22}{one.worst:8.2f}  {said}")
    print(f"written: {out}")
    return 0


def run(
    chosen: Sequence[HostileAttack],
    program: Sequence[str],
    *,
    seconds: float,
    wait_seconds: float,
    quiet_seconds: float = 4.0,
    cluster: bool = False,
) -> Iterator[dict[str, Any]]:
    """Run none and these; yield what was found of each, in their order."""
    waiting: deque[AttackSite] = deque()

    def finish(until: float) -> list[dict[str, Any]]:
        """Look at what is left of those whose wait ends by then, and delete them."""
        found: list[dict[str, Any]] = []
        while waiting and waiting[0].over_at + wait_seconds <= until:
            site = waiting.popleft()
            time.sleep(max(0.0, site.over_at + wait_seconds - time.time()))
            found.append(site.finish(waited=time.time() - site.over_at))
            site.close()
        return found

    with contextlib.ExitStack() as closing, ThreadPoolExecutor(1) as beside:
        for attack in (None, *chosen):
            site = closing.enter_context(
                contextlib.closing(AttackSite(attack, program, cluster=cluster))
            )
            finishing = beside.submit(finish, time.time())  # while the next ones start
            site.start()
            yield from finishing.result()
            print(f"{datetime.now(UTC):%H:%M:%S} {attack.name if attack else 'none'}", flush=True)
            site.run(seconds=seconds, quiet_seconds=quiet_seconds)
            waiting.append(site)
        while waiting:
            yield from finish(waiting[0].over_at + wait_seconds)


def _named(one: HostileAttack) -> set[str]:
    return {one.name, one.kind, one.door}


if __name__ == "__main__":
    sys.exit(main())
