"""Reports of other tools that checked nodes, as results of checks: `dcgmi diag -j` and its kin."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ....checks import judging, reported, telemetry
from ....checks.judging import JudgedCheck
from ....formats.check_reports import reading
from ....formats.check_reports.errors import CheckReportError
from ....vocabulary.checks import ReportedCheck
from ..found import ArtefactContents, LogQuote
from ..job.whereabouts import RankWhereabouts
from . import host_names

_MOST_BYTES = 256 << 20
_BAD = ("slow", "failed")
_TOOLS = re.compile(r"dcgmi?|diag(?:nostics?)?|nccl[_-]tests|\.jsonl?$", re.IGNORECASE)
"""What names of such files hold beside a host's."""


@dataclass(frozen=True, slots=True)
class _FileReport:
    """What a file reports, and when it was written, in seconds since the epoch."""

    file: str
    rows: list[ReportedCheck]
    at: float


def add(
    files: Mapping[str, Path],
    logs: Mapping[str, Path],
    processes: Mapping[int, RankWhereabouts],
    found: ArtefactContents,
) -> None:
    """Add the results in reports, and in those logs that may hold some, to `found`.

    A result is of the moment when its file was written, and of the last one of the job where that
    was later: files are copied. Values are compared over all of them.
    """
    reports = [report for name, path in files.items() if (report := _read(name, path, found))]
    reports += [
        report
        for name, path in logs.items()
        if (report := _read(name, path, found, log=True)) and report.rows
    ]
    if not reports:
        return
    hosts = sorted({one.host for one in processes.values() if one.host})
    newest = max(
        [*(event.at for event in found.events), *(sample.at for _, sample in found.samples)],
        default=max(report.at for report in reports),
    )
    placed = [_placed(report, hosts, processes) for report in reports]
    judged = iter(reported.compared([row for rows in placed for row in rows]))
    for report, rows in zip(reports, placed, strict=True):
        at = min(report.at, newest)
        own: dict[str, list[JudgedCheck]] = {}
        for row in rows:
            own.setdefault(row.host, []).append(next(judged))
        for host, results in own.items():
            found.events += telemetry.events(host, at, results)
        _tell(report, own, at, found)


def _read(
    name: str, path: Path, found: ArtefactContents, *, log: bool = False
) -> _FileReport | None:
    try:
        at = path.stat().st_mtime
        with path.open("rb") as opened:
            data = opened.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise CheckReportError(f"larger than {_MOST_BYTES >> 20} MiB")
        return _FileReport(name, reading.read(data, name), at)
    except OSError as error:
        found.unread[name] = f"cannot be read: {error.strerror}"
    except CheckReportError as error:
        if log:
            found.missing.append(f"checks in {name}: {error}")
        else:
            found.unread[name] = f"a report of checks: {error}"
    return None


def _placed(
    report: _FileReport, hosts: Sequence[str], processes: Mapping[int, RankWhereabouts]
) -> list[ReportedCheck]:
    """Return the results with the hosts that they are of, as the job calls these."""
    rows: list[ReportedCheck] = []
    for row in report.rows:
        named = row.host
        if not named and row.rank is not None and row.rank in processes:
            named = processes[row.rank].host
        file = _TOOLS.sub(" ", report.file)
        rows.append(replace(row, host=host_names.among(named, file, hosts, 1)))
    return rows


def _tell(
    report: _FileReport,
    results: Mapping[str, Sequence[JudgedCheck]],
    at: float,
    found: ArtefactContents,
) -> None:
    """Say how a report was read, and quote what is wrong in it."""
    verdicts = Counter(one.verdict.replace("_", " ") for rows in results.values() for one in rows)
    counted = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
    tool = report.rows[0].tool if report.rows else "checks"
    before = found.read.get(report.file)
    said = f"{tool}: {counted or 'no results'}"
    found.read[report.file] = f"{before}; {said}" if before else said
    found.unread.pop(report.file, None)
    for host, rows in sorted(results.items()):
        for one in judging.worst(rows):
            if one.verdict in _BAD:
                text = f"check {one.check} of {one.device}: {one.verdict}: {one.reason}"
                found.failed_checks.append(f"{host}: {text}" if host else text)
                found.quotes.append(
                    LogQuote(report.file, 1, at, None, "check.result", "confirmation", text, host)
                )
