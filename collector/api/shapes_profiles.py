"""Profiles as the API shows them; times are RFC 3339 in UTC."""

from typing import Literal

from pydantic import BaseModel

from .shapes_incident import Profiled

State = Literal["waiting", "complete", "failed"]


class ProfiledRank(BaseModel):
    """One rank's part of a profile; `bytes` is the size of its trace, `trace` where it is."""

    rank: int
    role: Literal["suspect", "peer"]
    host: str | None
    status: State
    text: str
    bytes: int
    steps: int
    seconds: float
    trace: str | None


class Profile(BaseModel):
    """A profile: what was asked of whom, and what differs between suspect and peer."""

    id: str
    job: str
    incident: str | None
    by: str
    created_at: str
    until: str
    steps: int
    status: State
    ranks: list[ProfiledRank]
    comparison: Profiled | None


class Profiles(BaseModel):
    """A page of profiles, the newest first."""

    items: list[Profile]
    next_cursor: str | None = None


class Request(BaseModel):
    """What an agent is asked for: see the page on profiles."""

    id: str
    job: str
    rank: int
    steps: int
    seconds: float
    max_bytes: int
    until: float


class Requests(BaseModel):
    """What is asked of a host's agent now."""

    items: list[Request]
