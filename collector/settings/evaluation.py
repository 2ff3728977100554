"""Settings of evaluation: what the windows may hold, and what jobs are set to."""

from pydantic import Field

from ...alerts.policy import UNNAMED_GPU_HOURS, UNNAMED_MINUTES
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
        description="GPU-hours that a job must have lost to slowness without a named cause, or to "
        "slightly slower loaders, and a minute of its own time, before it is an incident, with "
        "severity warning; before that it is an observation",
    )
    unnamed_minutes: float = Field(
        default=UNNAMED_MINUTES,
        ge=0,
        le=1_000_000,
        allow_inf_nan=False,
        description="The same in minutes of the job's own time, which jobs of few GPUs lose first; "
        "0 makes an incident of all such slowness",
    )
    max_series: int = Field(
        default=6_000_000,
        ge=1000,
        le=100_000_000,
        description="Series of all jobs and hosts that are held at once; points of further ones "
        "are left out, counted and logged",
    )
    max_text_bytes: int = Field(
        default=8 << 10,
        ge=256,
        le=1 << 20,
        description="Bytes of a text in an event, such as a line of a log; of a longer one the "
        "beginning is taken",
    )
    max_name_bytes: int = Field(
        default=512,
        ge=64,
        le=1 << 16,
        description="Bytes of the name of a host, a job, a metric, or of a value that tells series "
        "apart; for a longer one its beginning and a digest stand",
    )
    max_event_bytes_of_one: int = Field(
        default=4 << 20,
        ge=1 << 16,
        description="Bytes of the events that are held of one job or host; the oldest go first",
    )
    max_event_bytes: int = Field(
        default=256 << 20,
        ge=1 << 20,
        description="The same of all together; those of whoever has most go first",
    )
    max_jobs: int = Field(
        default=10_000,
        ge=1,
        le=1_000_000,
        description="Jobs that are held at once; what is reported of further ones is left out",
    )
    max_hosts: int = Field(
        default=200_000,
        ge=1,
        le=1_000_000,
        description="Hosts that are known at once; what is reported of further ones is left out",
    )
    max_attempts_of_job: int = Field(
        default=16,
        ge=4,
        le=1000,
        description="Attempts of one job from which on all but the newest three are let go of",
    )
    max_ranks_of_job: int = Field(
        default=1 << 18,
        ge=1,
        le=1 << 20,
        description="Ranks of one job, and of a group; what is reported of further ones is left "
        "out",
    )
