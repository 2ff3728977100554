"""The reader of versions and settings; one that changes is an event."""

import contextlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ....vocabulary.samples import Event, Sample, attributes
from ... import procfs
from ...state import rewrite
from ...trainers import TrainerProcess
from . import versions
from .libraries import LibraryVersions

_FILE = "software.json"


class SoftwareReader:
    """Looks every minute; what was there at the agent's last run is known."""

    name = "software"
    period = 60.0

    def __init__(
        self,
        *,
        emit: Callable[[Event], None],
        trainers: Callable[[], Sequence[TrainerProcess]] = list,
        state: Path | None = None,
        proc: Path = procfs.PROC,
        sys: Path = Path("/sys"),
    ) -> None:
        self._emit = emit
        self._libraries = LibraryVersions(trainers=trainers, proc=proc)
        self._proc = proc
        self._sys = sys
        self._path = state / _FILE if state else None
        self._known = _load(self._path)

    def supported(self) -> tuple[bool, str]:
        """Every kernel has a version."""
        return True, ""

    def read(self, now: float) -> list[Sample]:
        """Return one sample a version; report what is not as it was."""
        found: dict[str, tuple[versions.Kind, str]] = {}
        for name, version in versions.drivers(self._sys, self._proc):
            found[name] = ("driver", version)
        for name, version in versions.settings(self._sys, self._proc):
            found[name] = ("config", version)
        pairs = {(name, version) for name, (_, version) in found.items()}
        for device, board, version in versions.firmware(self._sys):
            pairs.add((f"firmware.{board}", version))
            # Held against itself: a device that leaves changes no version.
            found[f"firmware of {device}"] = ("driver", version)
        for name, (kind, version) in found.items():
            before = self._known.get(name, version)
            if before != version:
                changed = {"kind": kind, "text": f"{name} is {version}, it was {before}"}
                self._emit(Event("change", now, changed))
        self._remember({name: version for name, (_, version) in found.items()})
        return [
            Sample("system.software.info", 1.0, now, attributes({"name": name, "version": version}))
            for name, version in sorted(pairs | self._libraries.find())
        ]

    def _remember(self, found: dict[str, str]) -> None:
        """Keep the last version of each name; one that is away for now is not forgotten."""
        known = {**self._known, **found}
        if known == self._known:
            return
        self._known = known
        if self._path is not None:
            # A full disk costs the comparison with the next run, no more.
            with contextlib.suppress(OSError):
                rewrite(self._path, json.dumps(known))


def _load(path: Path | None) -> dict[str, str]:
    if path is None:
        return {}
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))
        return {str(name): str(version) for name, version in found.items()}
    except (OSError, ValueError, AttributeError):
        return {}  # absent or torn: nothing to compare with
