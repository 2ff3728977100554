"""The check to make next where a line of a log is all that is known, by what that line says."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from ...vocabulary import tables
from ...vocabulary.entities import Entity
from ...vocabulary.findings import Finding
from ...vocabulary.incidents import NextCheck
from ...vocabulary.patterns import DeferredPattern
from ...vocabulary.topology import JobTopology
from . import wording
from .catalogue import CauseAdvice, FaultName

_OF_LINES = ("job.fault_logged", "job.fault_noted")


@dataclass(frozen=True, slots=True)
class LineCheck:
    """What to check where lines of these signatures are all that is known."""

    signatures: DeferredPattern
    text: str
    command: str
    separates: tuple[FaultName, ...]


@cache
def rows() -> tuple[LineCheck, ...]:
    """Return all rows of line_checks.toml, in their order."""
    return tuple(
        tables.packaged(LineCheck, __package__ or "", "line_checks.toml", "check", unique=False)
    )


def of(symptoms: Sequence[Finding], entity: Entity, topology: JobTopology) -> tuple[NextCheck, ...]:
    """Return the check that the line asks for which is the symptom, none where none is."""
    said = next((one.observed for one in symptoms if one.kind in _OF_LINES), None)
    if not isinstance(said, str):
        return ()
    row = next(row for row in rows() if row.signatures.fullmatch(said))
    advice = CauseAdvice(row.text, row.command)
    return (
        NextCheck(
            wording.text(advice, entity, topology),
            wording.command(advice, entity, topology),
            row.separates,
        ),
    )
