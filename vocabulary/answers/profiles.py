"""Profiles of ranks, and what agents are asked for."""

from dataclasses import dataclass
from typing import Literal

from ..inspection import IncidentProfile
from ..profiling import ProfileRequest
from ..shapes import DocumentShape, OptionalText
from .checks import CheckOrderDocument
from .remedies import LauncherOrderDocument

ProfileState = Literal["waiting", "complete", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfiledRank(DocumentShape):
    """One rank's part of a profile; `bytes` is the size of its trace, `trace` where it is."""

    rank: int
    role: Literal["suspect", "peer"]
    host: str | None
    status: ProfileState
    text: str
    bytes: int
    steps: int
    seconds: float
    trace: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileDocument(DocumentShape):
    """A profile: what was asked of whom, and what differs between suspect and peer."""

    id: str
    job: str
    incident: str | None
    by: str
    created_at: str
    until: str
    steps: int
    status: ProfileState
    ranks: list[ProfiledRank]
    comparison: IncidentProfile | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfilesDocument(DocumentShape):
    """A page of profiles, the newest first."""

    items: list[ProfileDocument]
    next_cursor: OptionalText = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestsDocument(DocumentShape):
    """What is asked of a host's agent now: profiles, else what `what` names.

    checks: to run; launchers: ranks of torchrun to end.
    """

    items: list[ProfileRequest | CheckOrderDocument | LauncherOrderDocument]
