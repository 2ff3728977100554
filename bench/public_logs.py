"""Logs of runs that ended well, through `rankscope diagnose`: whatever it says of them is false.

`python -m bench.public_logs CLONE...` reads clones of MLCommons' public results
(github.com/mlcommons/training_results_v2.1 and its like; they are no part of this project): logs of
submissions that many vendors ran on clusters of one to thousands of devices. Of each submitter and
benchmark of a round one log is drawn by the seed. Prints a table in Markdown, and below it each log
of which something above information is said.
"""

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rankscope.formats.training_logs.parser import TrainingLogParser

_RESULT = re.compile(r"(?P<who>[^/]+)/results/.+/(?P<what>[^/]+)/result_\d+\.txt")
_LEAST, _MOST = 4_000, 3_000_000
"""Bytes of a log: shorter ones hold no run, longer ones are few and take their time."""
_ENDED_WELL = '"status": "success"'
_QUIET, _INFO = "quiet", "info"


@dataclass(frozen=True, slots=True)
class PublicLog:
    """One log: its clone, its path there, who ran it, and which benchmark."""

    clone: Path
    path: str
    submitter: str
    benchmark: str

    def text(self) -> bytes:
        """Return what it holds."""
        return _git(self.clone, "show", f"HEAD:{self.path}")


@dataclass(frozen=True, slots=True)
class LogVerdict:
    """What is said of a log: a severity or `quiet`, the first cause, and why."""

    severity: str
    fault: str = ""
    summary: str = ""


def drawn(clones: Sequence[Path], seed: int) -> Iterator[PublicLog]:
    """Yield one log of each clone, submitter and benchmark, in the order of their names."""
    dice = random.Random(seed)
    for clone in clones:
        groups: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        for row in _git(clone, "ls-tree", "-r", "-l", "HEAD").decode().splitlines():
            size, path = row.split("\t", 1)[0].split()[-1], row.split("\t", 1)[1]
            found = _RESULT.fullmatch(path)
            if found and size.isdigit() and _LEAST <= int(size) <= _MOST:
                groups[found["who"], found["what"]].append(path)
        for (submitter, benchmark), paths in sorted(groups.items()):
            yield PublicLog(clone, dice.choice(sorted(paths)), submitter, benchmark)


def verdict(log: Path) -> LogVerdict:
    """Return what `rankscope diagnose` says of a log."""
    words = [sys.executable, "-m", "rankscope.cli", "diagnose", str(log), "--json"]
    ran = subprocess.run(
        [*words, "--time-zone", "UTC"], capture_output=True, text=True, check=False
    )
    if not ran.stdout.startswith("{"):
        return LogVerdict(_QUIET)
    document = json.loads(ran.stdout)
    first = document["root_cause"]["hypotheses"][0]["fault"]
    return LogVerdict(document["severity"], first, document["summary"])


def reports(text: bytes) -> int:
    """Return how many lines of a log report a value of training."""
    parser = TrainingLogParser()
    logged = [*parser.feed(text), *parser.end()]
    return sum(bool(one.samples) for one in logged)


def table(said: Mapping[str, Sequence[LogVerdict]], reported: Mapping[str, int]) -> str:
    """Return the table: by benchmark, how many logs are quiet, and what is said of the others."""
    heads = ("benchmark", "logs", "reports", "quiet", "info", "above info", "first causes")
    lines = [f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads)]
    every = [one for verdicts in said.values() for one in verdicts]
    for benchmark, verdicts in [*sorted(said.items()), ("all", every)]:
        by = Counter(one.severity for one in verdicts)
        causes = Counter(one.fault for one in verdicts if one.severity not in (_QUIET, _INFO))
        named = ", ".join(f"{fault} {count}" for fault, count in causes.most_common())
        count = reported.get(benchmark, sum(reported.values()))
        above = len(verdicts) - by[_QUIET] - by[_INFO]
        lines.append(
            f"| {benchmark} | {len(verdicts)} | {count:,} | {by[_QUIET]} | {by[_INFO]} | "
            f"{above} | {named} |"
        )
    return "\n".join(lines)


def main(words: Sequence[str]) -> int:
    """Print the table of some clones; return the exit code."""
    parser = argparse.ArgumentParser(prog="bench.public_logs", description=__doc__)
    parser.add_argument("clones", type=Path, nargs="+", help="git clones of public results")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(words)
    said: defaultdict[str, list[LogVerdict]] = defaultdict(list)
    reported: Counter[str] = Counter()
    alarms: list[str] = []
    submitters: set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        for log in drawn(chosen.clones, chosen.seed):
            text = log.text()
            if _ENDED_WELL.encode() not in text:
                continue
            held = Path(folder) / "job.log"
            held.write_bytes(text)
            found = verdict(held)
            said[log.benchmark].append(found)
            reported[log.benchmark] += reports(text)
            submitters.add(log.submitter)
            if found.severity not in (_QUIET, _INFO):
                alarms.append(f"- {log.path}: {found.fault}: {found.summary[:200]}")
            print(f"\r{sum(map(len, said.values()))} logs", end="", file=sys.stderr)
    print(file=sys.stderr)
    print(table(said, reported), f"\n{len(submitters)} submitters\n", *alarms, sep="\n")
    return 0


def _git(clone: Path, *words: str) -> bytes:
    return subprocess.run(["git", "-C", str(clone), *words], capture_output=True, check=True).stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
