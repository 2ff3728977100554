"""A whole day of a healthy node, in seconds: no event may come of it.

    python -m bench.node.healthy_day                         every kind of GPU and exporter
    python -m bench.node.healthy_day --profile H100 --faults  and one fault of each kind

Minutes pass in steps; around whatever could be taken for a fault, seconds do. With --faults the day
is followed by one fault of each kind, and each has to give exactly its own event.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import mishaps, vendor_pages
from .healthy_life import NETWORKS, NodeDay
from .worker_within import under_stub

_MODULE = "bench.node.healthy_day"
_PAGES = Path("tests/fixtures/exporters")


def node_day(profile: str, hours: float, *, faults: bool, network: str = "") -> dict[str, Any]:
    """Live a day before GPUs of a kind; return every event, and what each fault gave."""
    begun = time.process_time()
    with tempfile.TemporaryDirectory(prefix="rs-", dir=_memory()) as folder:
        os.environ["RANKSCOPE_NVML_STUB"] = f"{folder}/driver/nvml.scenario"
        chosen: Any = network or NETWORKS[profile]
        life = NodeDay(Path(folder), profile=profile, network=chosen)
        try:
            life.day(hours)
            events = list(life.agent.reported)
            valid: dict[str, Any] = {
                "profile": profile,
                "network": life.network,
                "hours": hours,
                "restarts": life.restarts,
                "readers": life.agent.running,
                "series": life.agent.page.render(life.clock.now()).count(b"\nhw_gpu_"),
                "events": [_row(event) for event in events],
                "false": sum(map(mishaps.alarming, events)),
            }
            if faults:
                valid["faults"] = [
                    _held(name, mishap.expected, mishaps.through(life, mishap))
                    for name, mishap in mishaps.all_of(life)
                ]
        finally:
            life.close()
    valid["cpu_seconds"] = round(time.process_time() - begun, 1)
    return valid


def page_day(page: Path, hours: float, *, faults: bool) -> dict[str, Any]:
    """Live a day of an exporter's page; return every event, and what a fault on it gave."""
    begun = time.process_time()
    with tempfile.TemporaryDirectory(prefix="rs-", dir=_memory()) as folder:
        life = vendor_pages.PageLife(Path(folder), page)
        try:
            life.day(hours)
            events = list(life.agent.reported)
            valid: dict[str, Any] = {
                "profile": f"page of {page.stem}",
                "hours": hours,
                "series": life.series,
                "events": [_row(event) for event in events],
                "false": sum(map(mishaps.alarming, events)),
            }
            if faults and life.faults:
                before = len(life.agent.reported)
                expected = life.break_something()
                life.day(1.0)
                new = [one for one in life.agent.reported[before:] if mishaps.alarming(one)]
                valid["faults"] = [_held("a fault on the page", (expected,), new)]
        finally:
            life.close()
    valid["cpu_seconds"] = round(time.process_time() - begun, 1)
    return valid


def _held(name: str, expected: Sequence[str], events: Sequence[Any]) -> dict[str, Any]:
    found = sorted(map(mishaps.named, events))
    return {"fault": name, "events": found, "as_expected": found == sorted(expected)}


def _row(event: Any) -> dict[str, Any]:
    return {"name": event.name, "at": event.at, **event.attributes}


def _memory() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108


def main(argv: Sequence[str] | None = None) -> int:
    """Live the days; 1 when a healthy one gave an event or a fault did not give just its own."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(prog=f"python -m {_MODULE}", description=__doc__)
    parser.add_argument("--profile", action="append", help=", ".join(NETWORKS))
    parser.add_argument("--network", default="", help="ndr, hdr, roce, ethernet, none")
    parser.add_argument("--page", action="append", type=Path, help="an exporter's page")
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--faults", action="store_true", help="then one fault of each kind")
    parser.add_argument("--json", action="store_true", help="print JSON")
    wanted = parser.parse_args(arguments)
    under_stub(_MODULE, arguments)
    everything = not wanted.profile and not wanted.page
    profiles = list(NETWORKS) if everything else wanted.profile or []
    pages = sorted(_PAGES.glob("*.prom")) if everything else wanted.page or []
    days = [
        node_day(profile, wanted.hours, faults=wanted.faults, network=wanted.network)
        for profile in profiles
    ]
    days += [page_day(page, wanted.hours, faults=wanted.faults) for page in pages]
    if wanted.json:
        print(json.dumps(days, indent=1))
    else:
        for day in days:
            _show(day)
    wrong = [row for day in days for row in day.get("faults", ()) if not row["as_expected"]]
    return int(bool(wrong) or any(day["false"] for day in days))


def _show(day: dict[str, Any]) -> None:
    kinds = Counter(f"{row['name']} {row.get('code', '')}".strip() for row in day["events"])
    print(
        f"{day['profile']} {day.get('network', '')}: {day['hours']:g} h, {day['false']} false of "
        f"{len(day['events'])} events {dict(kinds)}, {day['cpu_seconds']} s of CPU"
    )
    for row in day["events"]:
        print(f"    {row}")
    for row in day.get("faults", ()):
        print(f"  {'ok ' if row['as_expected'] else 'BAD'} {row['fault']}: {row['events']}")


if __name__ == "__main__":
    sys.exit(main())
