"""The tables of a result as rows of text: one home for the terminal and the page."""

from collections.abc import Mapping, Sequence
from typing import Any

Document = Mapping[str, Any]
Table = tuple[str, Sequence[str], Sequence[tuple[str, ...]]]
"""Title, column names, rows."""

METHOD_COLUMNS = (
    "method", "precision", "recall", "F1", "right entity", "right first cause",
    "wrong accusations", "false / job-day", "false pages / 1,000 GPU-days",
    "delay p50 / p90 / p99", "in steps",
)  # fmt: skip
GROUP_COLUMNS = (
    "cases", "found", "recall", "false", "right entity", "right first cause", "delay p50 / p90",
    "not observable",
)  # fmt: skip
TITLES = {
    "fault": "By fault",
    "strength": "By strength",
    "missing": "By missing source",
    "shape": "By cluster shape",
    "habit": "By reporting habit",
    "benign": "By what healthy jobs do beside",
}


def methods(document: Document) -> Table:
    rows = [
        (
            name,
            share(row["precision"]),
            share(row["recall"]),
            share(row["f1"]),
            share(row["right_entity"]),
            share(row["right_cause"]),
            share(row["wrong_accusations"]),
            number(row["false_per_job_day"]),
            number(row["false_pages_per_1000_gpu_days"]),
            " / ".join(number(row["delay_seconds"][part]) for part in ("p50", "p90", "p99")) + " s",
            " / ".join(number(row["delay_steps"][part]) for part in ("p50", "p90", "p99")),
        )
        for name, row in document["methods"].items()
    ]
    return "Methods", METHOD_COLUMNS, rows


def ranking(document: Document) -> Table:
    """Return the table of the ranking of causes: our own figures alone."""
    row = document["ranking"]
    cells = [
        ("right first cause (AC@1)", share(row["first"])),
        ("right cause among the first three (AC@3)", share(row["first_three"])),
        ("wrong with high confidence", share(row["confident_wrong"])),
        ("no cause named", share(row["unknown"])),
        ("expected calibration error", share(row["calibration_error"])),
        ("cascades folded into one incident", share(row["folded"])),
    ]
    if row["pairs"]:
        cells.append((f"two faults, both named ({row['pairs']} cases)", share(row["both_named"])))
    return "Ranking of causes", ("figure", "share"), cells


def breakdown(document: Document, name: str) -> Table:
    """Return the table of a breakdown of our own figures."""
    rows = [
        (
            group,
            str(row["cases"]),
            f"{row['found']} of {row['observable']}",
            share(row["recall"]),
            str(row["false_incidents"]),
            share(row["right_entity"]),
            share(row["right_cause"]),
            " / ".join(number(row["delay_seconds"][part]) for part in ("p50", "p90")) + " s",
            _hidden(row),
        )
        for group, row in document["breakdowns"][name].items()
    ]
    return TITLES[name], (name, *GROUP_COLUMNS), rows


def delay_limits(document: Document) -> Table:
    """Return the table of how soon faults are found against how soon they have to be."""
    rows = [
        (
            row["limit"],
            row["fault"],
            f"{row['found']} of {row['cases']}",
            f"{number(row['median'])} / {number(row['worst'])} s",
            share(row["within"]),
            share(row["within_after_report"]),
        )
        for row in document["limits"]
    ]
    columns = (
        "limit", "fault", "found", "delay p50 / worst", "within the limit", "from the report",
    )  # fmt: skip
    return "Delays against their limits", columns, rows


def exhaustion(document: Document) -> Table:
    """Return the table of how far the time to exhaustion is off when a leak is first reported."""
    rows = [
        (row["fault"], str(row["measured"]), f"{row['median']:.1%} / {row['worst']:.1%}",
         share(row["within"]))
        for row in document["exhaustion"]
    ]  # fmt: skip
    columns = ("fault", "measured", "error p50 / worst", "within 25 %")
    return "Time to exhaustion of leaks", columns, rows


def problems(document: Document) -> Sequence[Table]:
    """Return the tables of what was missed, misplaced and wrongly reported; empty ones left out."""
    where = ("name", "shape", "habit", "missing", "benign")
    tables: list[Table] = [
        _listed("Missed", document["missed"], ("fault", "strength", *where)),
        _listed("Found at the wrong entity", document["wrong_entity"],
                (*where, "true", "named", "cause")),
        _listed("False incidents above info", document["false"], (*where, "severity", "summary")),
        _listed("Wrong accusations of a healthy node", document["wrong_accusations"],
                (*where, "severity", "cause", "entity")),
    ]  # fmt: skip
    return [table for table in tables if table[2]]


def share(value: float | None) -> str:
    """Return a share as a number of three digits, "-" where there is none."""
    return "-" if value is None else f"{value:.3f}"


def number(value: float | None) -> str:
    """Return a number a person can read, "-" where there is none."""
    if value is None:
        return "-"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 1 or not value \
        else f"{value:.2f}"  # fmt: skip


def _hidden(row: Document) -> str:
    if not row["unobservable"]:
        return ""
    return f"{row['unobservable']}, {row['unobservable_found']} found"


def _listed(title: str, rows: Sequence[Document], columns: tuple[str, ...]) -> Table:
    return title, columns, [tuple(str(row[column]) for column in columns) for row in rows]
