"""The numbers of the catalogue that are learned: each prediction's weights, and the engine's own.

Shares of incidents, essential evidence, times and the cap of a family are no part of it: those come
from publications and physics.
"""

from collections.abc import Mapping
from typing import NamedTuple

from ...alerts.causes.catalogue import Catalogue, Cause

ENGINE = ("prior", "scope", "early", "together", "late", "needed", "missing")
"""Constants of catalogue.toml that are learned, by the part of a score that they weigh."""

KEYS: Mapping[str, str] = {"scope": "cover"}
"""Where the key of a constant has another name than the part."""


class Parameter(NamedTuple):
    """One number of the catalogue.

    `fault` is "" for a constant of the engine; `position` counts the rows of `predicts` (or
    `contradicts`) of the fault from 0.
    """

    fault: str
    part: str
    position: int

    @property
    def group(self) -> str:
        """Return what it shares a multiplier with: the same part of faults of the same kind."""
        return f"{self.part} {self.fault.partition('.')[0]}".strip()


def engine(part: str) -> Parameter:
    """Return a constant of the engine."""
    return Parameter("", part, 0)


def of_prediction(cause: Cause, part: str, position: int) -> Parameter:
    """Return a weight of a row: part is present, absent or contradicts."""
    return Parameter(cause.fault, part, position)


def values(knowledge: Catalogue) -> dict[Parameter, float]:
    """Return every number as it stands in a catalogue; 0 stays 0 and so is left out."""
    found: dict[Parameter, float] = {}
    for part in ENGINE:
        found[engine(part)] = float(getattr(knowledge.weights, KEYS.get(part, part)))
    for cause in knowledge.causes:
        for position, row in enumerate(cause.predicts):
            found[of_prediction(cause, "present", position)] = row.present
            found[of_prediction(cause, "absent", position)] = row.absent
        for position, row in enumerate(cause.contradicts):
            found[of_prediction(cause, "contradicts", position)] = row.present
    return {parameter: value for parameter, value in found.items() if value}
