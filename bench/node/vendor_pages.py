"""A day of a vendor's exporter: a page whose gauges wander and whose counters grow.

Made from any page: what a metric is, its table reports. Series that tell faults stand at none.
"""

import random
from dataclasses import dataclass
from pathlib import Path

from rankscope.agent.settings import AgentSettings
from rankscope.formats import exporters
from rankscope.formats.exposition import lines

from . import trees
from .churn import PageConnection
from .healthy_life import BEGIN
from .within import AgentWithin
from .worker_within import ToldClock

_STEP = 120.0
_WANDERING = frozenset(
    {
        "hw.temperature",
        "hw.power",
        "hw.gpu.utilization",
        "hw.gpu.memory.usage",
        "hw.frequency",
        "hw.gpu.memory.activity",
        "hw.gpu.sm.activity",
        "hw.gpu.pcie.throughput",
    }
)
_GROWING = frozenset({"hw.energy", "hw.gpu.pcie.io", "hw.gpu.nvlink.io", "hw.network.io"})


@dataclass(slots=True)
class _PageLine:
    series: str
    value: str
    kind: str
    """wandering, growing, fault, or "" for what stays as it is."""
    fault: str = ""
    code: str = ""


class PageLife:
    """An agent that reads one exporter, and the exporter's page."""

    def __init__(self, folder: Path, page: Path) -> None:
        self.clock = ToldClock(BEGIN)
        self._random = random.Random(page.stem)
        self._page = PageConnection()
        self._lines, self.series = _read(page)
        self._page.text = self._text()
        node = trees.build(folder / "node", gpus=0, network="none")
        (folder / "state").mkdir()
        settings = AgentSettings.model_validate(
            {"exporters": {"targets": [{"url": self._page.url}]}}
        )
        self.agent = AgentWithin(
            node, self.clock, state=folder / "state", settings=settings, driver=False
        )

    @property
    def faults(self) -> int:
        """Return how many series of the page tell faults."""
        return sum(line.kind == "fault" for line in self._lines)

    def day(self, hours: float) -> None:
        """Let so many hours pass, a page every two minutes."""
        end = self.clock.at + 3600 * hours
        while self.clock.at < end:
            self.clock.at += _STEP
            self._page.text = self._text()
            self.agent.cycle()

    def break_something(self) -> str:
        """Let one series tell a fault; return the event that has to come of it."""
        line = next(one for one in self._lines if one.kind == "fault")
        line.value = "31" if not line.code else "1"
        return f"gpu.fault {line.code or line.fault}"

    def close(self) -> None:
        self.agent.close()
        self._page.close()

    def _text(self) -> bytes:
        for line in self._lines:
            if line.kind == "growing":
                line.value = repr(float(line.value) + self._random.randint(0, 100_000))
        return "".join(
            f"{line.series} {self._now(line)}\n" if line.value else f"{line.series}\n"
            for line in self._lines
        ).encode()

    def _now(self, line: _PageLine) -> str:
        if line.kind != "wandering":
            return line.value
        value = float(line.value) * self._random.uniform(0.6, 1.0)
        return str(round(value)) if "." not in line.value else f"{value:.3f}"


def _read(page: Path) -> tuple[list[_PageLine], int]:
    """Read a page, and learn from its exporter's table what each of its series is."""
    text = page.read_text(encoding="utf-8")
    valid = [line for line in text.splitlines() if line and not line.startswith("#")]
    names = {lines.series(lines.split(line)[0]).name for line in valid if _fits(line)}
    table = exporters.detect(names)
    if table is None:
        raise ValueError(f"{page}: no known exporter's page")
    found: list[_PageLine] = []
    for line in text.splitlines():
        if not line or line.startswith("#") or not _fits(line):
            found.append(_PageLine(line, "", ""))
            continue
        series, rest = lines.split(line)
        found.append(_described(table, series, rest.split()[0]))
    return found, len(valid)


def _fits(line: str) -> bool:
    try:
        lines.series(lines.split(line)[0])
    except lines.BadLineError:
        return False
    return True


def _described(table: exporters.ExporterTable, series: str, value: str) -> _PageLine:
    try:
        number = float(value)
    except ValueError:
        return _PageLine(series, value, "")
    mapped = exporters.PageMapping(table).read([f"{series} 1\n".encode()], now=BEGIN)
    if mapped.faults:
        binding = mapped.faults[0][0]
        code = binding.code
        return _PageLine(series, "0", "fault", fault=binding.spelled(31), code=code)
    metrics = {sample.metric for sample in mapped.samples}
    if abs(number) > 1e15 or number <= 0:
        return _PageLine(series, value, "")  # a blank, or nothing
    if metrics & _WANDERING:
        return _PageLine(series, value, "wandering")
    return _PageLine(series, value, "growing" if metrics & _GROWING else "")
