"""Training processes: where their probes report, how they are profiled, when stacks are taken."""

from pathlib import Path

from pydantic import Field, field_validator

from ...settings import SettingsSection
from ...vocabulary import udp_keys
from ...vocabulary.addresses import UDP_PORT
from ...vocabulary.profiling import MOST_STEPS
from .values import ListenAddress


class ProbeSettings(SettingsSection):
    """Where training processes reach the agent."""

    socket: Path | None = Field(
        default=None,
        description="Unix socket; default /run/rankscope/probe.sock, else a folder of the user",
    )
    udp_listen: ListenAddress = Field(
        default="", description=f"HOST:PORT for pods without the socket, such as 0.0.0.0:{UDP_PORT}"
    )
    udp_key_file: Path | None = Field(
        default=None,
        description="a file with a secret of 16 bytes at least: datagrams over UDP are taken from "
        "trainers alone that have the same variable and file",
    )
    bytes_per_second: int = Field(
        default=2 << 20,
        ge=1 << 20,
        description="bytes of datagrams that are read in a second, of all processes; one never has "
        "more of them than it leaves to the others, so at most half. What is more is dropped",
    )
    jobs_of_sender: int = Field(
        default=256,
        ge=1,
        description="jobs that the processes of one user, or all by UDP, may name within ten "
        "minutes; what names a further one is dropped",
    )

    @field_validator("udp_key_file")
    @classmethod
    def _holds_a_key(cls, value: Path | None) -> Path | None:
        if value is not None:
            udp_keys.read(value)
        return value


class ProfilingSettings(SettingsSection):
    """Profiles of training processes that the collector asks for."""

    allowed: bool = Field(
        default=False,
        description="ask the collector for requests, and let ranks of this node be profiled",
    )
    jobs: tuple[str, ...] = Field(
        default=(), description="patterns of job ids (* ? [..]) that may be; empty: every job"
    )
    max_steps: int = Field(default=50, ge=1, le=MOST_STEPS, description="most steps of one profile")
    max_seconds: float = Field(
        default=60.0, gt=0, le=600, description="most seconds; it ends with the step in progress"
    )
    max_bytes: int = Field(
        default=16 << 20, ge=1 << 16, le=256 << 20, description="bytes of a trace, compressed"
    )
    interval_seconds: float = Field(
        default=300.0, ge=0, description="seconds between two profiles of one rank"
    )
    py_spy: bool = Field(
        default=False,
        description="profile ranks without a probe by py-spy (pip install 'rankscope[py-spy]'; the "
        "right to trace), from outside: Python functions, no kernels",
    )
    poll_seconds: float = Field(
        default=5.0, ge=0.2, le=300, description="seconds between two questions to the collector"
    )


class CheckingSettings(SettingsSection):
    """Checks of this node that the collector asks for."""

    allowed: bool = Field(
        default=False,
        description="ask the collector for requests, and run `rankscope check` for them; where a "
        "training process is seen the node is left to it",
    )
    checks: tuple[str, ...] = Field(
        default=(), description="patterns of checks (* ? [..]) that may run; empty: every check"
    )
    seconds: float = Field(default=90.0, ge=5, le=600, description="most seconds of one check")
    interval_seconds: float = Field(
        default=60.0, ge=0, description="seconds between two checks of this node"
    )
    poll_seconds: float = Field(
        default=5.0, ge=0.2, le=300, description="seconds between two questions to the collector"
    )


class RestartingSettings(SettingsSection):
    """Restarts of jobs that torchrun started, which the collector orders."""

    allowed: bool = Field(
        default=False,
        description="ask the collector for orders, and end the ranks of a job for them: torchrun "
        "starts them anew, with --max-restarts; needs the right to signal them",
    )
    jobs: tuple[str, ...] = Field(
        default=(), description="patterns of jobs (* ? [..]) whose ranks it ends; empty: every job"
    )
    poll_seconds: float = Field(
        default=2.0, ge=0.2, le=60, description="seconds between two questions to the collector"
    )


class StacksSettings(SettingsSection):
    """Python stacks of training processes that make no progress."""

    collect: bool = Field(
        default=True,
        description="send the stacks that probes and their watchdogs take; function and file "
        "names, no values",
    )
    py_spy: bool = Field(
        default=False,
        description="run py-spy (pip install 'rankscope[py-spy]'; the right to trace) where a "
        "process is silent and its watchdog wrote nothing",
    )
