"""What hostile senders cost honest ones: `python -m bench.hostile [--only NAME] [--seconds N]`.

Each attack of the table meets a collector of its own, beside a process of twenty honest hosts. JSON
goes to a file, a table to the terminal. Nothing is asserted.
"""

import argparse
import json
import os
import shlex
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .attacks import attacks
from .watched import attacked

_COLUMNS = (
    *("attack", "CPU s", "RSS MiB", "lag s", "p99 ms", "most ms"),
    *("refused", "pages s", "snapshot MiB", "restart s"),
)


def main() -> int:
    """Run the attacks one by one, and none first."""
    parser = argparse.ArgumentParser(prog="python -m bench.hostile", description=__doc__)
    parser.add_argument("--only", action="append", help="an attack or a bound of the table; none")
    parser.add_argument("--seconds", type=float, default=30.0, help="that an attack lasts")
    parser.add_argument(
        "--collector",
        default=f"{Path(sys.executable).with_name('rankscope')} collector",
        help="the command that is attacked: that of another build, to compare",
    )
    parser.add_argument("--out", type=Path, help="default: bench-results/hostile-<time>.json")
    asked = parser.parse_args()
    rows = [None, *attacks()]
    if asked.only:
        rows = [one for one in rows if _named(one) & set(asked.only)]
    found: list[dict[str, Any]] = []
    print(_line(dict(zip(_COLUMNS, _COLUMNS, strict=True))))
    for one in rows:
        with tempfile.TemporaryDirectory(prefix="rankscope-hostile-") as name:
            done = attacked(one, shlex.split(asked.collector), Path(name), seconds=asked.seconds)
        found.append({**done, "load": os.getloadavg()[0]})
        print(_line(_shown(done)), flush=True)
    out = asked.out or Path("bench-results") / f"hostile-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return 0


def _named(one: Any) -> set[str]:
    return {"none"} if one is None else {one.name, one.bound}


def _shown(done: dict[str, Any]) -> dict[str, str]:
    during, after = done["during"], done["after"]
    pages = [*during["page_most_seconds"].values(), *after["page_most_seconds"].values()]
    values = (
        done["attack"],
        during["cpu_seconds"],
        "/".join(str(done[phase]["rss_mib"]) for phase in ("before", "during", "after")),
        max(during["lag_most_seconds"], after["lag_most_seconds"]),
        during["honest_p99_ms"],
        max(during["honest_most_ms"] or 0, after["honest_most_ms"] or 0),
        during["honest_refused"] + after["honest_refused"],
        max(pages, default=None),
        done["snapshot_mib"],
        done["restart_seconds"],
    )
    return {name: str(value) for name, value in zip(_COLUMNS, values, strict=True)}


def _line(cells: dict[str, str]) -> str:
    widths = {"attack": 14, "RSS MiB": 16}
    return "".join(cells[name].ljust(widths.get(name, 10)) for name in _COLUMNS).rstrip()


if __name__ == "__main__":
    sys.exit(main())
