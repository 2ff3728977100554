"""What the readers of logs that people paste find in them: each log is read once by all of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..found import ArtefactContents
from . import (
    held_memory,
    lost_time,
    nonfinite_rows,
    paces,
    pasted,
    profiles,
    resumed_losses,
    standing_losses,
)
from .nonfinite_rows import LostRow
from .pasted import PastedLine, PastedLog


@dataclass(frozen=True, slots=True)
class PastedReadings:
    """What each reader found, by log: its `add` says when that is told."""

    grown: list[tuple[PastedLog, PastedLine]] = field(default_factory=list)
    standing: list[tuple[PastedLog, PastedLine]] = field(default_factory=list)
    lost: list[tuple[PastedLog, LostRow]] = field(default_factory=list)
    slow: list[tuple[PastedLog, PastedLine]] = field(default_factory=list)
    resumed: list[tuple[PastedLog, PastedLine]] = field(default_factory=list)
    waits: list[tuple[PastedLog, PastedLine]] = field(default_factory=list)
    profiled: list[tuple[PastedLog, list[PastedLine]]] = field(default_factory=list)


def read(
    files: Mapping[str, Path], whose: Mapping[str, int | None], found: ArtefactContents
) -> PastedReadings:
    """Return what the logs, by name, say of memory, losses and times in forms of their own.

    `whose`: the rank that wrote each log, None where it is nobody's alone. Where a line speaks of
    a fault only memory is asked for: a reader that was not asked for has nothing to tell.
    """
    readings = PastedReadings()
    telling, numbers = found.telling, nonfinite_rows.asked(found)
    for log, lines in pasted.logs(files, whose, found):
        if (grown := held_memory.read(lines)) is not None:
            readings.grown.append((log, grown))
        if telling:
            continue
        if (stands := standing_losses.read(lines)) is not None:
            readings.standing.append((log, stands))
        if numbers and (lost := nonfinite_rows.read(lines)) is not None:
            readings.lost.append((log, lost))
        if (slow := paces.read(lines)) is not None:
            readings.slow.append((log, slow))
        if (climbs := resumed_losses.read(lines)) is not None:
            readings.resumed.append((log, climbs))
        if (waits := lost_time.read(lines)) is not None:
            readings.waits.append((log, waits))
        if (profiled := profiles.read(lines)) is not None:
            readings.profiled.append((log, profiled))
    return readings
