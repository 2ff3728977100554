"""`rankscope check --read`: reports of other tools, judged and handed over as own results are."""

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..checks import reported
from ..checks.judging import JudgedCheck
from ..formats.check_reports import reading
from ..formats.check_reports.errors import CheckReportError
from . import fleet_values

if TYPE_CHECKING:
    from ..vocabulary.checks import ReportedCheck
    from .asking import CollectorClient

_MOST_BYTES = 256 << 20


class UnreadableReportError(Exception):
    """A report that cannot be read; the text names it, says why, and where."""


def results(
    names: Sequence[str], *, host: str, place: str, collector: "CollectorClient | None"
) -> tuple[dict[str, list[JudgedCheck]], float, list[str]]:
    """Return the results by host, when they were had, and what could not be taken, in words.

    `host` is that of reports that name none. Raises UnreadableReportError.
    """
    rows: list[ReportedCheck] = []
    troubles: list[str] = []
    at = 0.0
    for name in names:
        found, written = _read(name)
        at = max(at, written)
        unplaced = [row for row in found if not row.host and row.rank is not None]
        if unplaced:
            troubles.append(f"{name}: {len(unplaced)} results name a rank and no host: left out")
        rows += [row for row in found if row.host or row.rank is None]
        if not found:
            troubles.append(f"{name}: it says nothing of any node")
    hosts = {row.host for row in rows}
    fleet = {
        one: fleet_values.FleetReader(collector, host=one or host, place=place) for one in hosts
    }
    by_name = reported.judged(rows, fleet=fleet)
    troubles += [why for reader in fleet.values() for why in reader.troubles[:1]][:1]
    return _joined(by_name, host), at, troubles


def send(
    collector: "CollectorClient",
    by_host: Mapping[str, Sequence[JudgedCheck]],
    at: float,
    *,
    place: str,
    incident: str,
) -> list[str]:
    """Hand the results of every host over; return why not, in words."""
    said = (
        fleet_values.send(collector, host, at, rows, place=place, incident=incident)
        for host, rows in by_host.items()
    )
    return [why for why in said if why][:1]


def _joined(by_name: Mapping[str, list[JudgedCheck]], host: str) -> dict[str, list[JudgedCheck]]:
    """Return the results by the names of hosts; reports that name none are of this one."""
    found: dict[str, list[JudgedCheck]] = {}
    for name, rows in by_name.items():
        found.setdefault(name or host, []).extend(rows)
    return found


def _read(name: str) -> "tuple[list[ReportedCheck], float]":
    """Return the results of one report, and when it was written."""
    shown = "standard input" if name == "-" else name
    try:
        if name == "-":
            data, at = sys.stdin.buffer.read(_MOST_BYTES + 1), time.time()
        else:
            with Path(name).open("rb") as file:
                data = file.read(_MOST_BYTES + 1)
            at = min(Path(name).stat().st_mtime, time.time())
        if len(data) > _MOST_BYTES:
            raise UnreadableReportError(f"{shown} is larger than {_MOST_BYTES >> 20} MiB")
        return reading.read(data, Path(name).name), at
    except OSError as error:
        raise UnreadableReportError(f"{shown} cannot be read: {error.strerror}") from None
    except CheckReportError as error:
        raise UnreadableReportError(f"{shown}: {error}") from None
