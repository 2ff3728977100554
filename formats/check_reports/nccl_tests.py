"""What nccl-tests print (`all_reduce_perf` and its kin), and what they write with `-J`.

A run has one value, the bus bandwidth of its largest size: smaller ones measure latency. Wrong
elements are a failure at any size. The table's columns are found by its own heading: they differ
between versions and with `-I`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...vocabulary.checks import ReportedCheck
from . import fields
from .errors import TornReportError

_BANDWIDTH_UNIT, _GIGA = "By/s", 1e9
_DEVICE = re.compile(
    r"#\s+Rank +(\d+) (?:Group +\d+ )?Pid +\d+ on +(\S+) device +(\d+) \[[^\]]*\] *(.*)"
)
_PROGRAM = re.compile(r"\b([a-z_]+_perf)(?:_mpi)?\b")
_HEADING = re.compile(r"#\s+size\s+count\s")
_BOUNDS = re.compile(r"#\s*Out of bounds values\s*:\s*(\d+)\s+(OK|FAILED)")
_AVERAGE = re.compile(r"#\s*Avg bus bandwidth\s*:")
_VERSION = re.compile(r"# nccl-tests version (\S+)")
_FAILURE = re.compile(r"(\S+): Test (NCCL|CUDA) failure \S+ '(.*)'")
_TIMED_OUT = re.compile(r"(\S+): Test timeout \((\d+)s\)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")
_UNNAMED = "a collective"
_HERE = ("localhost", "127.0.0.1")
_ACROSS, _WITHIN, _WRONG = "tool_network", "tool_device_links", "tool_arithmetic"


@dataclass(slots=True)
class CollectiveRun:
    """One run: who took part, and its row of the largest size. Bandwidth in By/s, size in bytes."""

    program: str
    version: str = ""
    hosts: dict[str, None] = field(default_factory=dict[str, None])
    models: dict[str, None] = field(default_factory=dict[str, None])
    ranks: int = 0
    size: int = 0
    type: str = ""
    bandwidth: float | None = None
    wrong: int = 0
    ended: bool = False

    @property
    def tool(self) -> str:
        """Return the tool as results name it."""
        return f"nccl-tests {self.version}".strip()

    def joined(self, host: str, model: str) -> None:
        """Take a rank that takes part."""
        self.ranks += 1
        self.hosts["" if host in _HERE else host] = None
        self.models[model.strip()] = None

    def measured(self, size: int, kind: str, bandwidths: Sequence[float], wrong: int) -> None:
        """Take a row: of several bandwidths (out of place, in place) the first counts."""
        self.wrong += wrong
        if size >= self.size and bandwidths:
            self.size, self.type, self.bandwidth = size, kind, bandwidths[0] * _GIGA

    def results(self, at: float | None = None) -> Iterator[ReportedCheck]:
        """Yield the run's value and what was wrong, for each host that took part."""
        across = len(self.hosts) > 1
        places = (
            f"{self.ranks} ranks of {len(self.hosts)} hosts" if across else f"{self.ranks} ranks"
        )
        said = f"{self.program} of {self.size} B over {places}"
        for host in self.hosts or {"": None}:
            if self.wrong:
                yield ReportedCheck(
                    check=_WRONG, tool=self.tool, host=host, verdict="failed", at=at,
                    reason=f"{said}: {self.wrong} elements are wrong",
                )  # fmt: skip
            if self.bandwidth is not None:
                model = ", ".join(self.models)
                yield ReportedCheck(
                    check=_ACROSS if across else _WITHIN, tool=self.tool, host=host, at=at,
                    reason=said, value=self.bandwidth, unit=_BANDWIDTH_UNIT, together=across,
                    kind=f"{self.program} {self.size} B {self.type}, {places}, {model}"[:255],
                )  # fmt: skip


def read(text: str, name: str = "") -> Iterator[ReportedCheck]:
    """Yield the results of the runs in a text; `name` is its file's, which may name the program.

    Raises TornReportError for a run that was cut off and says no failure.
    """
    run: CollectiveRun | None = None
    columns: list[str] = []
    program, version = _program(name), ""
    for number, line in enumerate(text.splitlines(), 1):
        if found := _FAILURE.search(line):
            yield _failed(found[1], version, f"{found[2]} failure: {found[3]}")
            run = None
        elif found := _TIMED_OUT.search(line):
            yield _failed(found[1], version, f"no end within {found[2]} s")
            run = None
        elif line.startswith("# Using devices"):
            if run is not None:
                raise TornReportError(_cut(run, number - 1))
            run, columns = CollectiveRun(program or _UNNAMED, version), []
        elif found := _VERSION.match(line):
            version = found[1]
        elif run is None:
            program = _program(line) or program
        elif found := _DEVICE.search(line):
            run.joined(found[2], found[4])
        elif _HEADING.match(line):
            columns = line.lstrip("# ").split()
        elif found := _BOUNDS.match(line):
            run.wrong = max(run.wrong, int(found[1]) if found[2] == "FAILED" else 0)
        elif _AVERAGE.match(line):
            yield from run.results()
            run = None
        elif columns:
            _row(line.split(), columns, run)
    if run is not None:
        raise TornReportError(_cut(run, text.count("\n")))


def is_document(value: object) -> bool:
    """Tell whether a JSON value is what `-J` writes."""
    return isinstance(value, Mapping) and "nccl_version" in value and "config" in value


def document(given: Mapping[str, Any]) -> Iterator[ReportedCheck]:
    """Yield the results of what `-J` wrote. Raises TornReportError."""
    config = given.get("config")
    if not isinstance(config, Mapping):
        raise TornReportError("nccl-tests: config is no object")
    arguments = given.get("args")
    words = arguments if isinstance(arguments, list) else []
    run = CollectiveRun(_program(str(words[0]) if words else "") or _UNNAMED)
    for row in fields.rows(config, "devices", "config"):
        run.joined(fields.text(row.get("hostname")), fields.text(row.get("device_info")))
    if "results" not in given:
        raise TornReportError("nccl-tests: there are no results: did the run come to its end?")
    for row in fields.rows(given, "results", "nccl-tests"):
        ways = [row[key] for key in ("out_of_place", "in_place") if isinstance(row.get(key), dict)]
        bandwidths = [value for way in ways if (value := fields.number(way.get("bus_bw")))]
        wrong = sum(int(fields.number(way.get("nwrong")) or 0) for way in ways)
        size = fields.number(row.get("size"))
        run.measured(int(size or 0), fields.text(row.get("type")), bandwidths, wrong)
    yield from run.results()


def _row(words: Sequence[str], columns: Sequence[str], run: CollectiveRun) -> None:
    """Take a line of the table; whatever else stands between its lines is none.

    Fields may be empty (`redop` of what reduces nothing), so those of figures are counted from the
    end.
    """
    figures = list(columns[_first_figure(columns) :])
    if "timestamp" in figures:
        figures.append("")  # a date and a time are two words
    if not 3 + len(figures) <= len(words) <= len(columns) + 1 or not words[0].isdecimal():
        return
    pairs = list(zip(figures, words[-len(figures) :], strict=True))
    bandwidths = [float(word) for name, word in pairs if name == "busbw" and _is_number(word)]
    wrong = sum(int(float(word)) for name, word in pairs if name == "#wrong" and _is_number(word))
    run.measured(int(words[0]), words[2], bandwidths, wrong)


def _first_figure(columns: Sequence[str]) -> int:
    return next((n for n, name in enumerate(columns) if name.endswith("time")), len(columns))


def _is_number(word: str) -> bool:
    return _NUMBER.fullmatch(word) is not None


def _program(text: str) -> str:
    found = _PROGRAM.search(text)
    return found[1] if found else ""


def _failed(host: str, version: str, reason: str) -> ReportedCheck:
    tool = f"nccl-tests {version}".strip()
    return ReportedCheck(check=_WITHIN, tool=tool, host=host, verdict="failed", reason=reason)


def _cut(run: CollectiveRun, line: int) -> str:
    held = f"; its last size is {run.size} B" if run.size else ""
    return f"line {line}: the run of {run.program} has no end (# Avg bus bandwidth){held}"
