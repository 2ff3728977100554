"""Settings of evaluation: what the windows may hold, and what jobs are set to."""

from pydantic import Field

from ...settings import SettingsSection


class EvaluationSettings(SettingsSection):
    """How telemetry is evaluated."""

    collective_timeout_seconds: float = Field(
        default=600.0,
        gt=0,
        le=86_400,
        allow_inf_nan=False,
        description="Time-out of collectives in the jobs, as init_process_group(timeout=) sets it: "
        "a stall that nothing explains is critical from then on",
    )
    max_series: int = Field(
        default=6_000_000,
        ge=1000,
        le=100_000_000,
        description="Series of all jobs and hosts that are held at once; points of further ones "
        "are left out, counted and logged",
    )
