"""A folder of leftovers, and its diagnosis."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rankscope.collector.artefacts import FolderDiagnosis, diagnose
from rankscope.collector.settings.collector import CollectorSettings


@pytest.fixture
def explain() -> Callable[..., FolderDiagnosis]:
    """Return a function that diagnoses a folder; a defect passed over fails the test."""

    def run(folder: Path, **changed: Any) -> FolderDiagnosis:
        defects: list[object] = []
        found = diagnose(
            [folder],
            CollectorSettings(),
            job="job",
            failed=lambda *defect: defects.append(defect),
            **changed,
        )
        assert not defects
        return found

    return run


@pytest.fixture
def written() -> Callable[[Path, float], None]:
    """Return a function that dates every file of a folder: when a dump was made is in no dump."""

    def date(folder: Path, at: float) -> None:
        for file in folder.iterdir():
            os.utime(file, (at, at))

    return date
