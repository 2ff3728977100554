"""`rankscope lab score --recordings FOLDER`: incidents of real jobs, replayed against their truth.

A case is a recording with a truth file beside it; `rankscope lab from-incident` writes both. It is
replayed as `rankscope replay` does it, without learnt priors. The answer is the incident that
opened nearest to the onset among those above info of the truth's jobs, else among all of them.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from ...collector.pipeline.pipeline import DetectionPipeline
from ...collector.recordings.otlp_lines import RecordingError, files
from ...collector.recordings.truth import SCHEMA
from ...collector.replay.replay import ReplayRun
from ...vocabulary import times
from ..from_incident import truth_file
from . import report

MOST_CONSIDERED = 3
"""A cause among the first so many hypotheses counts for AC@3."""


class RecordingsError(Exception):
    """A folder of cases that cannot be read; the text is a message."""


@dataclass(frozen=True, slots=True)
class RecordingCase:
    """A recording and what it really was. `entity` None: people named none."""

    file: Path
    fault: str
    entity: str | None
    jobs: tuple[str, ...]
    opened_at: float


@dataclass(frozen=True, slots=True)
class ReplayAnswer:
    """What a replay gave for a case; `rank` is where the true fault stands, None: nowhere.

    `entity` None: the truth names none, or the fault was not found.
    """

    case: RecordingCase
    incident: str | None
    first: str | None
    first_entity: str | None
    rank: int | None
    right_entity: bool | None

    @property
    def right(self) -> bool:
        """Return whether the first cause is the true one, at the true entity where it is known."""
        return self.rank == 1 and self.right_entity is not False

    def document(self) -> dict[str, Any]:
        """Return the answer ready for JSON."""
        return {
            "recording": self.case.file.name,
            "fault": self.case.fault,
            "entity": self.case.entity,
            "incident": self.incident,
            "first_cause": self.first,
            "first_entity": self.first_entity,
            "rank_of_the_fault": self.rank,
            "right_entity": self.right_entity,
            "right": self.right,
        }


def score(folder: Path, *, as_json: bool) -> int:
    """Replay every case and print what came out; return the exit code (1: one was not readable)."""
    try:
        found = cases(folder)
        answers = [answer(case) for case in found]
    except (RecordingsError, RecordingError, OSError) as error:
        print(f"rankscope lab score: {error}", file=sys.stderr)
        return 1
    if as_json:
        for row in answers:
            print(json.dumps(row.document()))
    else:
        _show(answers, sys.stdout)
    return 0


def cases(folder: Path) -> list[RecordingCase]:
    """Return the cases of a folder by name. Raises RecordingsError."""
    if not folder.is_dir():
        raise RecordingsError(f"{folder} is not a folder")
    found = [_case(file) for file in files(folder) if truth_file(file).is_file()]
    if not found:
        raise RecordingsError(
            f"{folder} holds no recording with a truth file beside it; "
            "`rankscope lab from-incident` writes both"
        )
    return found


def answer(case: RecordingCase) -> ReplayAnswer:
    """Return what a replay of a case gives. Raises RecordingError."""
    made = ReplayRun(pipeline=DetectionPipeline(), warn=lambda _text: None, failed=_failed)
    mine = [row for row in made.run(case.file) if set(case.jobs) & set(row["jobs"])]
    above = [row for row in mine if row["severity"] != "info"]
    near = min(
        above or mine,
        key=lambda row: (abs(times.parse(row["opened_at"]) - case.opened_at), row["id"]),
        default=None,
    )
    if near is None:
        return ReplayAnswer(case, None, None, None, None, None)
    hypotheses: Sequence[Mapping[str, Any]] = near["root_cause"]["hypotheses"]
    ranks = [number for number, row in enumerate(hypotheses, 1) if row["fault"] == case.fault]
    right = None
    if ranks and case.entity is not None:
        right = hypotheses[ranks[0] - 1]["entity"]["id"] == case.entity
    first = hypotheses[0] if hypotheses else None
    return ReplayAnswer(
        case=case,
        incident=near["id"],
        first=None if first is None else first["fault"],
        first_entity=None if first is None else first["entity"]["id"],
        rank=ranks[0] if ranks else None,
        right_entity=right,
    )


def _case(file: Path) -> RecordingCase:
    path = truth_file(file)
    try:
        row = json.loads(path.read_text(encoding="utf-8"))
        if row["schema"] != SCHEMA or row["fault"] is None:
            raise ValueError(f"its schema is not {SCHEMA}, or it names no fault")
        return RecordingCase(
            file=file,
            fault=str(row["fault"]),
            entity=None if row["entity"] is None else str(row["entity"]),
            jobs=tuple(row["jobs"]),
            opened_at=times.parse(row["opened_at"]),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise RecordingsError(f"{path}: no truth file: {error}") from error


def _show(answers: Sequence[ReplayAnswer], out: TextIO) -> None:
    head = ("recording", "fault", "first cause", "at", "rank of the fault", "")
    report.print_table((f"{len(answers)} recordings", head, list(_lines(answers))), out)
    first = sum(row.rank == 1 for row in answers)
    among = sum(row.rank is not None and row.rank <= MOST_CONSIDERED for row in answers)
    right = sum(row.right for row in answers)
    count = len(answers)
    print(
        f"first cause right: {first} of {count}; among the first {MOST_CONSIDERED}: {among}; "
        f"at the right entity too: {right}",
        file=out,
    )


def _lines(answers: Sequence[ReplayAnswer]) -> Iterator[tuple[str, ...]]:
    for row in answers:
        yield (
            row.case.file.name,
            row.case.fault,
            row.first or "no incident",
            row.first_entity or "",
            "-" if row.rank is None else str(row.rank),
            "right" if row.right else "wrong",
        )


def _failed(stage: str, error: Exception) -> None:
    raise RecordingError(f"{stage} failed: {error}") from error
