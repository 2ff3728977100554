"""Logs of training jobs: which files are followed, and which forms of lines are read."""

import zoneinfo
from collections.abc import Mapping
from typing import Literal

from pydantic import Field, field_validator, model_validator

from ...formats import training_logs
from ...settings import SettingsSection
from .values import AbsolutePattern


class LogFiles(SettingsSection):
    """Files of one job that are followed beside those of processes."""

    path: AbsolutePattern = Field(description="name or pattern of names, such as /logs/run-7/*.log")
    job: str = Field(description="id of the job that writes them")
    attempt: int | None = Field(default=None, ge=0, description="attempt of the job")
    rank: int | None = Field(
        default=None,
        ge=0,
        description="whose log it is; by default a number after rank in the name, else as the "
        "lines say",
    )
    world_size: int | None = Field(default=None, ge=1, description="ranks that the job has")


class OwnLogFormat(SettingsSection):
    """A form of lines that no shipped format has."""

    name: str = Field(description="what the format is called", pattern=r"^[\w.-]{1,40}$")
    contains: str = Field(description="a text that every such line has: it is searched first")
    pattern: str = Field(
        description="regular expression of a whole line, without its end; named groups are metrics "
        "of training without `training.`, dots as underscores: step, loss, grad_norm, step_duration"
    )
    units: Mapping[str, str] = Field(
        default_factory=dict,
        description="unit by group, where it is not the metric's own: ms, us, min, KiB, MiB, GiB, "
        "%, k, M, G, T; 1/s for a rate whose inverse is the duration",
    )
    rank: Literal["first", "last", "each"] = Field(
        default="first",
        description="who prints such lines where several ranks write into one file",
    )

    @model_validator(mode="after")
    def _usable(self) -> "OwnLogFormat":
        training_logs.own(
            self.name,
            contains=self.contains,
            pattern=self.pattern,
            units=self.units,
            rank=self.rank,
        )
        return self


class LogsSettings(SettingsSection):
    """What training jobs write to their standard output and error, and to log files."""

    follow: bool = Field(
        default=True,
        description="follow the standard output and error of processes that a launcher gave a "
        "rank, where these are files that the agent may read",
    )
    files: tuple[LogFiles, ...] = Field(default=(), description="more files to follow")
    formats: tuple[OwnLogFormat, ...] = Field(
        default=(), description="forms of lines, tried before those that are shipped"
    )
    time_zone: str | None = Field(
        default=None, description="of times without one, such as UTC; default the machine's"
    )
    cpu_share: float = Field(
        default=0.04,
        ge=0.001,
        le=1.0,
        description="share of a core that reading logs may take; beyond, a sample of the lines is "
        "read",
    )

    @field_validator("time_zone")
    @classmethod
    def _known(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                zoneinfo.ZoneInfo(value)
            except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
                raise ValueError("write a name such as UTC or Europe/Berlin") from error
        return value
