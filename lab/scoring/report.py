"""Progress while a suite runs, and its result as tables on a terminal."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, TextIO

from . import rows
from .results import CaseResult
from .rows import Document, Table
from .work import Report


def show(document: Document, out: TextIO) -> None:
    """Print every table of a result."""
    print(
        f"suite {document['suite']} (seed {document['seed']}): {document['cases']} cases, "
        f"{len(document['faults'])} faults; {document['text']}",
        file=out,
    )
    for table in (
        rows.methods(document),
        rows.ranking(document),
        *(rows.breakdown(document, name) for name in rows.TITLES),
        rows.delay_limits(document),
        rows.exhaustion(document),
        *rows.problems(document),
    ):
        print_table(table, out)
    cpu = ", ".join(f"{part} {seconds:.2f} s" for part, seconds in document["cpu"].items())
    print(f"CPU time a case: {cpu}", file=out)
    for row in document["errors"]:
        what = row["error"].strip().rpartition("\n")[2] or f"detectors: {row['detector_failures']}"
        print(f"error: {row['case']}: {what}", file=out)


def print_table(table: Table, out: TextIO) -> None:
    """Print one table, as wide as it needs to be where the output is no terminal."""
    from rich.console import Console  # noqa: PLC0415  only this output needs it
    from rich.table import Table as RichTable  # noqa: PLC0415

    title, columns, lines = table
    drawn = RichTable(title=title, title_justify="left", highlight=False)
    for column in columns:
        drawn.add_column(column, overflow="fold")
    for line in lines:
        drawn.add_row(*(cell.replace("[", r"\[") for cell in line))
    # The colour of a terminal would pass through the verb's output as an escaped sequence.
    width = None if out.isatty() else 200
    console = Console(file=out, width=width, color_system=None, force_terminal=False)
    console.print(drawn)


@contextmanager
def progress(total: int, out: TextIO) -> Generator[Report, None, None]:
    """Return what to call with each result: a bar on a terminal, else a line now and then."""
    if not out.isatty():
        yield _ProgressLines(total, out).report
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import Progress, TimeRemainingColumn  # noqa: PLC0415

    columns = (*Progress.get_default_columns()[:-1], TimeRemainingColumn())
    with Progress(*columns, console=Console(file=out)) as bar:
        task = bar.add_task("cases", total=total)

        def report(done: int, total: int, row: CaseResult) -> None:
            name = str(row.case["name"])
            bar.update(task, completed=done, total=total, description=f"{name:<28}")
            if row.failed:
                bar.console.print(_failure(row), markup=False)

        yield report


class _ProgressLines:
    """Progress as plain lines: about twenty in all, and one for each failure."""

    def __init__(self, total: int, out: TextIO) -> None:
        self._every, self._out = max(total // 20, 1), out

    def report(self, done: int, total: int, row: CaseResult) -> None:
        """Print a line where one is due."""
        if row.failed:
            print(_failure(row), file=self._out, flush=True)
        if done % self._every == 0 or done == total:
            print(f"{done} of {total} cases", file=self._out, flush=True)


def _failure(row: CaseResult) -> str:
    last: Any = row.error.strip().rpartition("\n")[2] or dict(row.detector_failures)
    return f"error in case {row.case['name']}: {last}"
