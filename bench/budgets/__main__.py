"""Run the benches and write one JSON file: the machine, and what each bench measured."""

import argparse
import importlib
import json
import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from . import BENCHES


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m bench.budgets", description=__doc__)
    parser.add_argument("--out", type=Path, help="default: bench-results/<time>.json")
    parser.add_argument("--seconds", type=float, default=10.0, help="length of each measurement")
    parser.add_argument("--only", choices=sorted(BENCHES), action="append", help="leave out others")
    arguments = parser.parse_args()
    now = datetime.now(UTC)
    results: dict[str, Any] = {"at": now.isoformat(timespec="seconds"), "machine": machine()}
    for name in arguments.only or BENCHES:
        print(f"measuring {name} ...", file=sys.stderr)
        bench = importlib.import_module(f".{BENCHES[name]}", __package__)
        results[name] = bench.measure(arguments.seconds)
    text = json.dumps(results, indent=2)
    out = arguments.out or Path("bench-results") / f"{now:%Y%m%dT%H%M%SZ}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text + "\n", encoding="utf-8")
    print(text)
    print(f"written to {out}", file=sys.stderr)
    return 0


def machine() -> dict[str, Any]:
    """Return what the figures depend on: processor, cores, load, interpreter."""
    model = platform.processor() or platform.machine()
    for line in _lines(Path("/proc/cpuinfo")):
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "load_average": [round(load, 2) for load in os.getloadavg()],
        "python": platform.python_version(),
        "system": platform.platform(),
    }


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


if __name__ == "__main__":
    sys.exit(main())
