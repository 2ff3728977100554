"""Clocks of a job's hosts, as its collectives show them."""

from dataclasses import dataclass

from ..shapes import DocumentShape


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockOffsetDocument(DocumentShape):
    """How far a host's clock is ahead of the middle of all hosts, by when collectives ended.

    `uncertainty_seconds`: the spread over `collectives`, at least how exactly their ends are known.
    """

    host: str
    seconds: float
    uncertainty_seconds: float
    collectives: int
