"""Settings of the journal: how much of the past is held, and how it is cut into files."""

from pydantic import Field

from ...settings import SettingsSection


class JournalSettings(SettingsSection):
    """Retention and restart."""

    keep_days: float = Field(default=7.0, gt=0, description="Days for which payloads are held")
    keep_bytes: int = Field(
        default=10 << 30, ge=1 << 20, description="Bytes that all segments may take together"
    )
    segment_bytes: int = Field(
        default=64 << 20, ge=1 << 16, description="Size at which a new segment begins"
    )
    reread_minutes: float = Field(
        default=20.0, ge=0, description="Minutes of the journal that are read again at start"
    )
    reread_limit_minutes: float = Field(
        default=60.0,
        ge=0,
        description="The same at most, where an open incident began earlier: so that it is found "
        "again and not opened a second time",
    )
