"""Trials that were run already, one line of JSON each: a long run is resumed where it was ended."""

import dataclasses
import json
from collections import Counter
from pathlib import Path

from .precision import ActionTruth
from .trial import TrialResult


class KeptTrials:
    """A file of trials, by seed. A last line that was cut off is run again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[int, TrialResult] = {}
        text = path.read_text() if path.exists() else ""
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            path.write_text(whole)
        for line in whole.splitlines():
            found = _result(line)
            self._known[found.seed] = found

    def get(self, seed: int) -> TrialResult | None:
        """Return a trial of before, None where it was not run."""
        return self._known.get(seed)

    def add(self, found: TrialResult) -> None:
        document = {name.name: getattr(found, name.name) for name in dataclasses.fields(found)}
        document["acted"] = [dataclasses.asdict(truth) for truth in found.acted]
        with self._path.open("a") as file:
            file.write(json.dumps(document) + "\n")


def _result(line: str) -> TrialResult:
    document = json.loads(line)
    for name in ("states", "outcomes", "effects", "killed", "answers"):
        document[name] = Counter(document[name])
    document["acted"] = [ActionTruth(**row) for row in document["acted"]]
    return TrialResult(**document)
