"""Whether what an action took out may come back: by the checks that it passed since then. Pure.

What a site checks it asks of a node before it trusts it again; one that nobody checked, or that
failed since, stays out until a person who says who they are takes it back all the same.
"""

from collections.abc import Sequence
from typing import Literal

from ...vocabulary.checks import ActiveCheck, catalogue
from ...vocabulary.remedies import EXCLUDING
from ..store.check_rows import NumberedCheck
from ..store.remedy_rows import RemedyRecord

_TELLING = 0.5
"""How often a check has to show a cause to speak for a device that had it."""


def asked(row: RemedyRecord, when: Literal["used", "always", "never"], *, used: bool) -> bool:
    """Return whether an action is taken back only after a check; `used`: hosts here have some."""
    if row.action not in EXCLUDING or row.host is None or row.mode != "act":
        return False
    return when == "always" or (when == "used" and used)


def since(row: RemedyRecord) -> float:
    """Return from when on results count: once it was out (seconds since the epoch)."""
    return row.ended_at or row.started_at or row.planned_at


def doubt(row: RemedyRecord, results: Sequence[NumberedCheck]) -> str:
    """Return why the host may not come back yet, "" where it passed.

    results: of its host since it was out, the newest first. Where none of our checks shows the
    cause, any that passed will do.
    """
    newest = _newest(results)
    for one in newest:
        if one.verdict in ("slow", "failed"):
            return f"check {one.check_name} of {one.device} is {one.verdict} since: {one.reason}"
    telling = _telling(row.fault)
    ours = [check.name for check in telling if check.measured]
    if not ours:
        what, names, command = "no check", None, "rankscope check"
    else:
        what, names = f"no check that shows {row.fault}", {check.name for check in telling}
        command = f"rankscope check --only {' '.join(ours)}"
    if any(names is None or one.check_name in names for one in newest):
        return ""
    return f"{what} has passed on {row.host} since: run `{command}` there"


def passed(results: Sequence[NumberedCheck]) -> str:
    """Return in words what a host passed since it was out."""
    names = sorted({one.check_name for one in _newest(results) if one.verdict == "pass"})
    return f"passed {', '.join(names)}"


def _newest(results: Sequence[NumberedCheck]) -> list[NumberedCheck]:
    """Return the newest result of each check of each device that said anything."""
    found: dict[tuple[str, str], NumberedCheck] = {}
    for one in results:
        if one.verdict != "not_measured":
            found.setdefault((one.check_name, one.device), one)
    return list(found.values())


def _telling(fault: str) -> list[ActiveCheck]:
    return [
        check
        for check in catalogue().values()
        if any(cause.fault == fault and cause.found >= _TELLING for cause in check.causes)
    ]
