"""Settings of checks that people ask agents for."""

from pydantic import Field

from ...settings import SettingsSection


class ChecksSettings(SettingsSection):
    """Checks of nodes; an agent takes part only where its own checking.allowed is set."""

    requests: bool = Field(
        default=False,
        description="Let admins have the agent of a suspected node run the check that tells an "
        "incident's causes apart",
    )
    wait_seconds: float = Field(
        default=60.0, ge=5, le=3600, description="How long an agent may take to begin with it"
    )
