"""Settings of evaluation: what the windows may hold, and what jobs are set to."""

from pydantic import Field

from ...alerts.policy import UNNAMED_GPU_HOURS
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
    unnamed_gpu_hours: float = Field(
        default=UNNAMED_GPU_HOURS,
        ge=0,
        le=1_000_000,
        allow_inf_nan=False,
        description="GPU-hours that a job must have lost to slowness without a named cause before "
        "it is an incident, with severity warning; before that it is an observation",
    )
    max_series: int = Field(
        default=6_000_000,
        ge=1000,
        le=100_000_000,
        description="Series of all jobs and hosts that are held at once; points of further ones "
        "are left out, counted and logged",
    )
