"""Draw mutants, map the tests, run them: see `python -m tools.mutants --help`."""

import argparse
import json
import sys
import tempfile
import threading
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from . import __doc__ as purpose
from .draws import Finder, draw
from .recording import Map, record
from .sites import Mutant, every_site, files
from .trials import Bounds, Tree, Trial

ROOT = Path(__file__).parents[2]


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0, or what pytest returned when the tests were mapped."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.mutants",
        description=purpose,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    drawing = verbs.add_parser("draw", help="print a sample as JSON lines")
    drawing.add_argument("--seed", type=int, required=True)
    drawing.add_argument("--count", type=int, default=200)
    mapping = verbs.add_parser("map", help="run tests once, keep which lines each runs")
    mapping.add_argument("map", type=Path)
    mapping.add_argument("arguments", nargs="*", help="after --, for pytest")
    running = verbs.add_parser("run", help="try each mutant; goes on where it stopped")
    running.add_argument("mutants", type=Path)
    running.add_argument("--map", type=Path, required=True)
    running.add_argument("--results", type=Path, help="default: beside the mutants")
    running.add_argument("--tests", default="", help="pytest -m of the quick ones; default: all")
    running.add_argument("--jobs", type=int, default=1)
    running.add_argument("--limit", type=int, default=400, help="tests a mutant, at most")
    running.add_argument("--seconds", type=float, default=60, help="of tests a mutant, at most")
    wanted = parser.parse_args(arguments)
    if wanted.verb == "map":
        return record(wanted.map, wanted.arguments)
    sources = files(ROOT)
    sites = every_site(sources)
    if wanted.verb == "draw":
        for mutant in draw(sources, sites, wanted.seed, wanted.count):
            print(json.dumps(asdict(mutant)))
        return 0
    results = wanted.results or wanted.mutants.with_suffix(".results.jsonl")
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        _run(wanted, results, Finder(sites), sources, Path(folder))
    print(summary(_rows(results)))
    return 0


def _run(
    wanted: argparse.Namespace,
    results: Path,
    finder: Finder,
    sources: dict[str, bytes],
    folder: Path,
) -> None:
    done = [row["mutant"] for row in _rows(results)]
    rows = [row for row in _rows(wanted.mutants) if row not in done]
    left = iter(enumerate(rows, 1))
    turn = threading.Lock()

    def work(job: int) -> None:
        tested = Map(wanted.map)
        tree = Tree(ROOT, folder / f"tree-{job}")
        trial = Trial(
            tree, tested, tested.marked(wanted.tests), Bounds(wanted.limit, wanted.seconds)
        )
        while True:
            with turn:
                number, row = next(left, (0, {}))
            if not row:
                break
            site = finder.find(Mutant(**row))
            result: dict[str, Any] = {"outcome": "not found", "at": row["path"]}
            if site is not None:
                result = trial.outcome(site, sources[site.mutant.path])
            with turn, results.open("a", encoding="utf-8") as out:
                out.write(json.dumps({"mutant": row, **result}) + "\n")
                print(f"{number}/{len(rows)} {result['at']} {result['outcome']}", file=sys.stderr)
        tree.close()

    with ThreadPoolExecutor(wanted.jobs) as pool:
        for worker in [pool.submit(work, job) for job in range(wanted.jobs)]:
            worker.result()


def _rows(path: Path) -> list[dict[str, Any]]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def summary(rows: list[dict[str, Any]]) -> str:
    """Return outcomes by package, then each mutant that no quick test kills."""
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    named: list[str] = []
    for row in rows:
        mutant = row["mutant"]
        for name in (mutant["path"].partition("/")[0], "all"):
            counted[name][row["outcome"]] += 1
        if row["outcome"] != "killed by quick":
            killer = f" {row['killer']}" if "killer" in row else ""
            bounded = ", and not every test was tried" if row.get("bounded") else ""
            named += [
                f"{row['at']} {mutant['function']}: {row['outcome']}{killer}{bounded}",
                f"    {mutant['text']}",
                f"    {mutant['kind']}: {mutant['before']!r} becomes {mutant['after']!r}",
            ]
    table = [
        f"{name:12} " + ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
        for name, counts in sorted(counted.items())
    ]
    return "\n".join([*table, "", *named])


if __name__ == "__main__":
    sys.exit(main())
