"""Which changes of an incident are worth a notice to people, and how flapping is damped."""

from dataclasses import dataclass

from ..vocabulary.faults import Severity
from .severity import worse

CALM_SECONDS = 30.0
"""An incident whose symptoms are gone for so long, with training going on, is resolved."""

MOST_CALM_SECONDS = 600.0
"""The longest that an incident that keeps returning must be calm."""


@dataclass(slots=True)
class SentNotices:
    """What people were notified of.

    Notified: the first severity above info, every worse one, once another first cause, and the
    first return after an end was notified, unless that is `quiet`. Every return doubles the calm
    that an end needs.
    """

    severity: Severity | None = None
    cause: str = ""
    cause_again: bool = False
    returns: int = 0
    reopened: bool = False
    quiet: bool = False

    @property
    def calm_seconds(self) -> float:
        """Return how long the symptoms must be gone before the incident is resolved."""
        return min(CALM_SECONDS * 2.0**self.returns, MOST_CALM_SECONDS)

    def again(self, *, quiet: bool = False) -> None:
        """Note that the incident was reopened; `quiet`: it says nothing that is new to anybody."""
        self.returns += 1
        self.reopened, self.quiet = True, quiet

    def due(self, severity: Severity, cause: str) -> bool:
        """Return whether a change is worth a notice, and take it as given."""
        reopened, self.reopened = self.reopened, False
        if severity == "info":
            return False
        if reopened:
            news = self.severity is None or worse(severity, self.severity)
            if news:
                self.severity = severity
            return news or not self.quiet
        if self.severity is None or worse(severity, self.severity):
            self.severity, self.cause = severity, cause
            return True
        if not self.cause_again and cause != self.cause:
            self.cause_again = True
            return True
        return False
