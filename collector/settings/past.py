"""Settings of questions about the past."""

from pydantic import Field

from ...settings import SettingsSection


class PastSettings(SettingsSection):
    """Bounds of GET /api/v1/root-cause where the journal is read again."""

    hours: float = Field(
        default=6.0, gt=0, le=24 * 31, description="Longest stretch of the past of one question"
    )
    seconds: float = Field(
        default=120.0, gt=0, le=3600, description="How long reading it again may take"
    )
    memory_bytes: int = Field(
        default=4 << 30, ge=64 << 20, description="Address space that reading it again may take"
    )
