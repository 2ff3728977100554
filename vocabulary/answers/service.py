"""The collector itself: errors, health, and who asks."""

from dataclasses import dataclass
from typing import Literal

from ..shapes import DocumentShape


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemDocument(DocumentShape):
    """An error (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionDocument(DocumentShape):
    """Whom the collector takes the caller for.

    `jobs` are the patterns that the token is limited to, empty: none. Without any token configured
    everybody on this machine is admin, and `token_required` is false.
    """

    role: Literal["ingest", "read", "admin"]
    name: str
    jobs: list[str]
    token_required: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthDocument(DocumentShape):
    """That the process runs, and its version."""

    status: Literal["ok"]
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadinessDocument(HealthDocument):
    """That telemetry is taken, and what else an operator has to see to."""

    warnings: list[str]
