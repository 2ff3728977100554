"""Settings of profiles."""

from pydantic import Field

from ...settings import SettingsSection
from ...vocabulary.profiling import MOST_STEPS


class ProfilesSettings(SettingsSection):
    """Profiles of ranks; an agent takes part only where its own profiling.allowed is set."""

    automatic: bool = Field(
        default=False,
        description="Profile a rank that an incident above info names as slow, and a healthy peer",
    )
    steps: int = Field(default=20, ge=1, le=MOST_STEPS, description="Steps of a profile")
    seconds: float = Field(default=30.0, gt=0, le=600, description="Most seconds of a profile")
    interval_seconds: float = Field(
        default=1800.0, ge=0, description="Seconds between two automatic profiles of one job"
    )
    wait_seconds: float = Field(
        default=120.0, ge=5, le=3600, description="How long a rank may take to begin with it"
    )
    max_trace_bytes: int = Field(
        default=32 << 20, ge=1 << 16, le=1 << 30, description="Bytes of one trace, compressed"
    )
    max_bytes: int = Field(
        default=1 << 30, ge=1 << 20, description="Bytes of all traces; beyond, the oldest go"
    )
    keep_days: float = Field(default=14.0, gt=0, description="Days for which traces are kept")
