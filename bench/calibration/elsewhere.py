"""Answers in cases of other generators, which were made and scored by `python -m bench.worlds`."""

import json
from collections.abc import Iterator
from pathlib import Path

from bench.worlds import replays, scoring
from rankscope.alerts.causes.reach import AnswerSetting

from .curves import CalibrationAnswer


def answers(folder: Path, jobs: int) -> Iterator[CalibrationAnswer]:
    """Yield the named first causes of all cases of a folder, its name being the generator's.

    Cases that were not replayed yet are, `jobs` at once. Raises ReplayError.
    """
    folders = sorted(path.parent for path in folder.glob("*/truth.json"))
    for place, incidents in zip(folders, replays.all_incidents(folders, jobs), strict=True):
        truth = json.loads((place / "truth.json").read_text(encoding="utf-8"))
        for one in scoring.scored(truth, incidents).answers:
            shape = f"{folder.name} {place.name}"
            setting = AnswerSetting(
                int(truth.get("world", truth.get("size", 0))), 0.0, one.coverage, one.signs
            )
            fault = truth["fault"] or ""
            yield CalibrationAnswer(one.lead, one.right, fault, shape, folder.name, setting)
