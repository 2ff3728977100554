"""What a profile of a training says of its time: waits for the loader, compilers, idle devices.

A profile shows a part of a job, and its own cost besides. Only what takes most of it is told.
"""

from collections.abc import Iterable, Sequence

from ....formats import profiles
from ....formats.profiles.profiler_tables import ProfileTable
from ....formats.profiles.xla_metrics import XlaReport
from ....vocabulary.log_lines import COMPILES_OFTEN, DATA_WAITS, DEVICES_IDLE
from ....vocabulary.samples import TelemetryResource
from ..found import ArtefactContents
from . import pasted
from .pasted import PastedLine, PastedLog

LOADING, BUSY = 0.5, 0.5
"""Share of the host's time in the loader that is told, unless devices work for such a share: then
they have their batches, and the loop waits for them anyway."""

IDLE = 0.3
"""Share of the time below which devices are said to be idle."""

FEWEST, FEWEST_RUNS = 5, 50
"""Calls of a loader, and runs of a device's program, that say what is usual."""

COMPILED, AGAIN, EACH = 20, 3, 0.1
"""Graphs that a job compiles to begin with, at most; those between two reports that are compiled
again; and for how many of its runs one is, at least."""


def add(
    said: Iterable[tuple[PastedLog, Sequence[PastedLine]]],
    resource: TelemetryResource,
    found: ArtefactContents,
) -> None:
    """Quote what profiles say, where no line speaks of a fault; events say so too."""
    if found.telling:
        return
    for log, lines in said:
        found.understood(log.name, "profile of a training")
        for line in lines:
            pasted.tell(log, line, resource, found)


def read(lines: Sequence[str]) -> list[PastedLine] | None:
    """Return what the profiles of a log say, a line a profiler at most; None where it has none."""
    if not any(mark in line for line in lines for mark in profiles.MARKS):
        return None
    from ....formats.profiles import profiler_tables, xla_metrics  # noqa: PLC0415  most hold none

    tables, reports = profiler_tables.read(lines), xla_metrics.read(lines)
    if not tables and not reports:
        return None
    of_table = next(filter(None, map(_of_table, tables)), None)
    return [one for one in (of_table, _of_reports(reports)) if one is not None]


def _of_table(table: ProfileTable) -> PastedLine | None:
    """Return what a table of torch's profiler says, None where it says nothing."""
    total, devices = table.cpu_seconds, table.device_seconds
    if not total or devices >= BUSY * total:
        return None
    worked = f"; devices work for {devices / total:.0%} of it" if devices else ""
    loading = table.loading
    if loading and loading.calls >= FEWEST and loading.cpu_seconds >= LOADING * total:
        share = min(loading.cpu_seconds / total, 1.0)
        text = f"{share:.0%} of the host's time in a profile is a wait for the loader{worked}"
        return PastedLine(loading.line, DATA_WAITS, f"{text}: {loading.name}")
    if 0 < devices < IDLE * total:
        text = f"devices work for {devices / total:.0%} of the time of a profile"
        return PastedLine(table.rows[0].line, DEVICES_IDLE, text)
    return None


def _of_reports(reports: Sequence[XlaReport]) -> PastedLine | None:
    """Return what the last report of torch_xla says, against the one before where there is one."""
    if not reports:
        return None
    last, before = reports[-1], XlaReport(0)
    if len(reports) > 1 and reports[-2].executed.samples < last.executed.samples:
        before = reports[-2]
    graphs = last.compiled.samples - before.compiled.samples
    runs = last.executed.samples - before.executed.samples
    compiled = last.compiled.seconds - before.compiled.seconds
    executed = last.executed.seconds - before.executed.seconds
    least = AGAIN if before.line else COMPILED
    slow = _fallbacks(last)
    if graphs >= max(least, EACH * runs) and compiled > executed:
        text = (
            f"{graphs} graphs were compiled in {compiled:.3g} s for {runs} runs of {executed:.3g} s"
        )
        return PastedLine(last.line, COMPILES_OFTEN, text + slow)
    if runs >= FEWEST_RUNS and 0 < last.executed.rate < IDLE:
        text = f"the device runs programs for {last.executed.rate:.0%} of the time"
        return PastedLine(last.line, DEVICES_IDLE, text + slow)
    return None


def _fallbacks(report: XlaReport) -> str:
    """Return in words what ran on the host, "" where nothing did."""
    most = sorted(report.fallbacks.items(), key=lambda one: -one[1])[:3]
    named = ", ".join(f"{name} {count} times" for name, count in most)
    return f"; on the host ran {named}" if named else ""
