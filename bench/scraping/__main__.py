"""Healthy hours of scraped clusters: `python -m bench.scraping` counts false incidents."""

import argparse
import json
import sys
from collections.abc import Iterable
from typing import Any

from .quiet import QuietHour, hour


def main() -> int:
    """Run the hours one by one, print a line of JSON each, and the sum; 0 whatever was found."""
    parser = argparse.ArgumentParser(prog="python -m bench.scraping", description=__doc__)
    parser.add_argument("--hours", type=int, default=24)
    parser.add_argument("--seed", type=int, default=0, help="of the first hour; the next one + 1")
    parser.add_argument("--interval", type=float, help="seconds between scrapes; default: drawn")
    asked = parser.parse_args()
    done: list[QuietHour] = []
    for seed in range(asked.seed, asked.seed + asked.hours):
        done.append(hour(seed, interval=asked.interval))
        print(json.dumps(done[-1].document()), flush=True)
    print(json.dumps(summary(done)))
    return 0


def summary(done: Iterable[QuietHour]) -> dict[str, Any]:
    """Return the sum over hours: false incidents above info, and how many that is a job-day."""
    rows = list(done)
    false = sum(len(one.false) for one in rows)
    return {
        "hours": len(rows),
        "job_days": round(len(rows) / 24, 2),
        "samples": sum(one.samples for one in rows),
        "false_above_info": false,
        "false_above_info_a_job_day": round(24 * false / max(len(rows), 1), 2),
        "seeds_with_false": [one.seed for one in rows if one.false],
    }


if __name__ == "__main__":
    sys.exit(main())
