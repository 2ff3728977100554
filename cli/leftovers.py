"""What a dead job left, as people read it: the answer, the lines that say so, what is missing."""

import textwrap
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ..vocabulary.chances import chance
from ..vocabulary.faults import UNKNOWN
from . import report, terminal

if TYPE_CHECKING:
    from ..collector.artefacts.found import ArtefactContents

_LINES = 12
"""Lines of logs that a report quotes; --json has all."""
_CHECKS = 3
_LOOKED_FOR = (
    "ends of ranks, tasks and hosts as launchers and schedulers write them",
    "lines of known faults in logs of jobs and kernels (docs/reference/log-signatures.md)",
    "steps that stop, and values that are not finite or leave their course",
    "ranks that launched or completed fewer collectives than their peers",
)
_SOURCES = (
    ("log, ", "no log of a rank or a launcher (output of torchrun, srun, kubectl logs)"),
    ("Flight Recorder", "no Flight Recorder dump (TORCH_FR_DUMP_TEMP_FILE)"),
    ("NCCL RAS", "no answer of NCCL RAS (ncclras -v)"),
)


def report_of(document: Mapping[str, Any]) -> str:
    """Return the answer in a few lines, and below it the incident and what it rests on."""
    left = terminal.plain_document(document["leftovers"])
    told = [row for row in left["lines"] if row["role"] != "background"]
    apart = [row for row in left["lines"] if row["role"] == "background"]
    parts = [*_answer(terminal.plain_document(document)), ""]
    parts += _quoted("Lines that say so, first errors first:", told)
    parts += _quoted("Not of this job, by their times or devices:", apart)
    parts += [f"Missing: {text}" for text in left["missing"]]
    parts += [f"Beside this: {summary}" for summary in left["others"]]
    parts += ["", report.incident_report(document), ""]
    if left["layout"]:
        parts.append("Parallel layout, by the groups that ranks were in:")
        parts += [
            f"  {kind}: {len(groups)} groups: {' '.join(groups[:4])}{' ...' * (len(groups) > 4)}"
            for kind, groups in left["layout"].items()
        ]
    unread = f", {len(left['unread'])} not:" if left["unread"] else "."
    parts.append(f"Read {len(left['read'])} files{unread}")
    parts += [f"  {name}: {why}" for name, why in list(left["unread"].items())[:_LINES]]
    return "\n".join(parts)


def no_fault(found: "ArtefactContents") -> str:
    """Return that nothing speaks of a fault: where, what was looked for, what would tell more."""
    failed = found.failed_checks
    shows = f"no fault of a job shows, but checks of nodes are bad ({len(failed)})"
    lines = [
        f"{shows if failed else 'no fault shows'} in the {len(found.read)} files that could be read"
    ]
    lines += [f"  {text}" for text in failed[:_LINES]]
    lines += [f"  {name}: {how}" for name, how in found.read.items()]
    lines += [f"  not read: {name}: {why}" for name, why in found.unread.items()]
    if found.open_end is not None:
        lines.append(f"  the log ends here: {_line(found.open_end.document())}")
    apart = [quote.document() for quote in found.apart]
    lines += [f"  {text}" for text in _quoted("not of this job:", apart)]
    lines += [f"  looked for: {text}" for text in _LOOKED_FOR]
    held = " ".join(found.read.values())
    lacking = [text for mark, text in _SOURCES if mark not in held]
    lines += [f"  missing: {text}" for text in (*found.missing, *lacking)]
    return "\n".join(lines)


def _answer(document: Mapping[str, Any]) -> list[str]:
    """Return what happened, where, and how sure that is."""
    first = document["root_cause"]["hypotheses"][0]
    sure = f"{first['confidence']} confidence"
    if first["probability"] is not None:
        sure += f", probability {chance(first['probability'])}"
    if first["fault"] == UNKNOWN:
        sure = "no cause is named: the lines below are all that is known"
    lines = [document["summary"], f"{document['severity']}, since {document['opened_at']}; {sure}"]
    now = [row["text"] for row in first["actions"] if row["when"] == "now"]
    checks = [row["text"] for row in document["root_cause"]["next_checks"]]
    lines += [f"Check next: {text}" for text in (checks or now)[:_CHECKS]]
    return [part for line in lines for part in textwrap.wrap(line, report.WIDTH) or [""]]


def _quoted(title: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the first line of each role and signature, and how many more bear them."""
    of_kind: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        of_kind.setdefault((row["role"], row["signature"]), []).append(row)
    shown = [
        f"  {_line(first)}" + (f" (and {len(more)} more of this kind)" if more else "")
        for first, *more in list(of_kind.values())[:_LINES]
    ]
    if len(of_kind) > _LINES:
        shown.append(f"  ... and {len(of_kind) - _LINES} more kinds (--json)")
    return [title, *shown] if shown else []


def _line(row: Mapping[str, Any]) -> str:
    """Return a quoted line with where it stands, when and by whom it was written."""
    at = None if row["at"] is None else datetime.fromtimestamp(row["at"], UTC)
    who = [
        "" if at is None else f"{at:%Y-%m-%d %H:%M:%S}Z",
        "" if row["rank"] is None else f"rank {row['rank']}",
        row["host"] and f"on {row['host']}",
    ]
    said = " ".join(part for part in who if part)
    return f"{row['file']}:{row['line']}: [{row['role']}] {said}{': ' * bool(said)}{row['text']}"
