"""What the findings of a job were last explained by: the same findings have the same causes.

An open incident is evaluated every second, though most seconds bring nothing new about it.
"""

from collections.abc import Sequence
from typing import Any

from ...alerts.causes.catalogue import CauseCatalogue
from ...alerts.causes.engine import RootExplanation, explanations
from ...vocabulary.findings import Finding
from ...vocabulary.topology import JobTopology


class AttemptExplanations:
    """The newest explanations of one attempt, and what they are of. In no snapshot."""

    def __init__(self) -> None:
        self._of: tuple[Any, ...] = ()
        self._findings: tuple[Finding, ...] = ()
        self._found: tuple[RootExplanation, ...] = ()

    def __reduce__(self) -> tuple[type["AttemptExplanations"], tuple[()]]:
        """Return what a snapshot keeps: nothing, it is made anew."""
        return AttemptExplanations, ()

    def of(
        self,
        findings: Sequence[Finding],
        topology: JobTopology,
        *,
        observed: frozenset[str],
        clock_skew: float,
        interval: float,
        knowledge: CauseCatalogue | None,
    ) -> tuple[RootExplanation, ...]:
        """Return the root causes of what was found, as `explanations` does."""
        of = (topology, observed, clock_skew, interval, knowledge)
        same = (
            len(findings) == len(self._findings)
            and len(self._of) == len(of)
            and of[0] is self._of[0]
            and of[1:4] == self._of[1:4]
            and of[4] is self._of[4]
            and all(_same(new, old) for new, old in zip(findings, self._findings, strict=True))
        )
        self._findings, self._of = tuple(findings), of
        if same:
            return self._found
        self._found = explanations(
            findings,
            topology,
            observed=observed,
            clock_skew=clock_skew,
            interval=interval,
            knowledge=knowledge,
        )
        return self._found


def _same(new: Finding, old: Finding) -> bool:
    """Tell whether two findings say the same, to the digit.

    A detector that was not asked again gives the very same one, one that was asked and saw nothing
    new an equal one. What is equal may yet be written otherwise, as 0 and -0 are.
    """
    return new is old or (new == old and repr(new) == repr(old))
