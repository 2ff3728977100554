"""Settings of actions: what the collector does about a cause, off by default."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, field_validator, model_validator

from ...settings import SettingsSection
from ...vocabulary.remedies import RemedyKind
from .kubernetes import MOUNT, ApiServer, address_of
from .store import check_secret, check_url


class ExecutorSettings(SettingsSection):
    """Who carries out the actions of some jobs."""

    kind: Literal["webhook", "slurm", "kubernetes", "torchrun"] = Field(
        description="slurm: scontrol of this machine; kubernetes: its API server; torchrun: the "
        "agents of the job's hosts (restarting.allowed there); webhook: a program of yours"
    )
    name: str = Field(
        default="",
        pattern=r"^[A-Za-z0-9_-]{0,32}$",
        description="Its name in records and metrics; empty: its kind",
    )
    jobs: tuple[str, ...] = Field(
        default=(), description="Patterns of job ids (* ? [..]); empty: every job"
    )
    actions: tuple[RemedyKind, ...] = Field(
        default=(), description="Which actions it may take; empty: all that it can"
    )
    url: SecretStr = Field(default=SecretStr(""), description="webhook: where orders are posted")
    secret: SecretStr = Field(
        default=SecretStr(""), description="webhook: what orders are signed with: whsec_..."
    )
    scontrol: Path = Field(default=Path("/usr/bin/scontrol"), description="slurm: the program")
    api_server: ApiServer = Field(
        default="",
        description="kubernetes: address of the API server; empty: from KUBERNETES_SERVICE_HOST",
    )
    credentials: Path = Field(
        default=MOUNT,
        description="kubernetes: folder with the service account's `token` and `ca.crt`",
    )
    namespace: str = Field(
        default="default", min_length=1, description="kubernetes: where the pods of jobs are"
    )
    selector: str = Field(
        default="jobset.sigs.k8s.io/jobset-name={job}",
        description="kubernetes: labels of a job's pods; {job} stands for the job's id",
    )

    @property
    def server(self) -> str:
        """Return the address of the API server, "" where it is not known."""
        return address_of(self.api_server)

    @property
    def label(self) -> str:
        """Return what records and metrics call it."""
        return self.name or self.kind

    @model_validator(mode="after")
    def _complete(self) -> "ExecutorSettings":
        if self.kind == "webhook":
            check_url(self.url.get_secret_value())
            check_secret(self.secret.get_secret_value())
        if self.kind == "kubernetes":
            if "{job}" not in self.selector:
                raise ValueError("selector: without {job} it would fit the pods of every job")
            if not self.server:
                raise ValueError(
                    "this process does not run in Kubernetes (KUBERNETES_SERVICE_HOST is not set): "
                    "run the collector there, or set api_server and credentials"
                )
        return self


class ActionsSettings(SettingsSection):
    """What the collector does by itself about a cause that is sure enough. Off by default."""

    mode: Literal["off", "dry_run", "act"] = Field(
        default="off",
        description="off: nothing; dry_run: record what would be done; act: do it",
    )
    veto_seconds: float = Field(
        default=120.0, ge=0, description="How long a planned action waits for a veto"
    )
    fresh_seconds: float = Field(
        default=90.0,
        ge=35,
        description="How old a verdict may be when its action starts; an open incident is renewed "
        "every 30 s",
    )
    wait_seconds: float = Field(
        default=1800.0,
        gt=0,
        description="How long a planned action waits for the budget and a fresh verdict",
    )
    min_probability: Mapping[RemedyKind, float] = Field(
        default_factory=dict[RemedyKind, float],
        description="How probable a cause must be, by action, where that is more than the table "
        "of remedies asks for",
    )
    min_slowdown: float = Field(
        default=1.25,
        ge=1,
        description="A job that goes on, and whose steps take less than so many times as long as "
        "usual, is left alone",
    )
    nodes_per_hour: int = Field(
        default=2, ge=0, description="Nodes that may be taken out within an hour"
    )
    fleet_share: float = Field(
        default=0.05,
        ge=0,
        le=1,
        description="Share of the nodes with jobs that may be out at once; less than one node is "
        "one node, 0 none",
    )
    restarts_per_job_hour: int = Field(
        default=2, ge=0, description="Actions that end an attempt of one job within an hour"
    )
    give_up_seconds: float = Field(
        default=600.0, gt=0, description="After so long an executor that does not answer has failed"
    )
    outcome_seconds: float = Field(
        default=900.0,
        gt=0,
        description="How long a job may take to make steps again, at its usual speed",
    )
    check_before_return: Literal["used", "always", "never"] = Field(
        default="used",
        description="Whether a node comes back only after a passed check; used: once hosts send "
        "results of checks",
    )
    executors: tuple[ExecutorSettings, ...] = Field(
        default=(), description="Who carries out actions; of several the first that a job fits"
    )

    @field_validator("min_probability")
    @classmethod
    def _probabilities(cls, given: Mapping[RemedyKind, float]) -> Mapping[RemedyKind, float]:
        for name, least in given.items():
            if not 0 <= least <= 1:
                raise ValueError(f"{name}: write a probability from 0 to 1")
        return given

    @model_validator(mode="after")
    def _somebody(self) -> "ActionsSettings":
        if self.mode == "act" and not self.executors:
            raise ValueError("mode act needs somebody to act: add an entry to executors")
        names = [row.label for row in self.executors]
        if len({*names}) < len(names):
            raise ValueError("executors: two have the same name; give each a name of its own")
        return self
