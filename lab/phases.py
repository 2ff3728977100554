"""What a command of the laboratory is busy with, on a terminal; nothing of it stays there.

Where the output is no terminal nothing is written: a script reads results, not progress.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import TextIO

from ..formats.otlp.columns import MetricsBatch, SeriesTable
from ..vocabulary.samples import Event
from .simulator.recording import SimulatedRecording
from .simulator.shape import EPOCH

Report = Callable[[float], None]
"""Called with the share of the work that is done, in [0, 1]."""


@contextmanager
def phase(text: str, out: TextIO) -> Generator[Report, None, None]:
    """Show a line with the time since the start while the block runs; a bar once it is reported."""
    if not out.isatty():
        yield lambda _share: None
        return
    from rich.console import Console  # noqa: PLC0415  only a terminal needs it
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(file=out), transient=True) as bar:
        task = bar.add_task(text, total=None)
        yield lambda share: bar.update(task, completed=share, total=1.0)


@dataclass(frozen=True, slots=True)
class _WatchedRecording(SimulatedRecording):
    """A recording that reports how much of its time has been delivered."""

    report: Report = print

    def batches(self, table: SeriesTable) -> Iterator[tuple[float, MetricsBatch | list[Event]]]:
        """Return the recording's batches, and report after each."""
        # No super(): a dataclass with slots is another class than the one that super() refers to.
        for at, what in SimulatedRecording.batches(self, table):
            yield at, what
            self.report(min((at - EPOCH) / self.scenario.seconds, 1.0))


def watched(made: SimulatedRecording, report: Report) -> SimulatedRecording:
    """Return the same recording; reports what share of its time the batches read so far span."""
    return _WatchedRecording(
        **{row.name: getattr(made, row.name) for row in fields(made)}, report=report
    )
