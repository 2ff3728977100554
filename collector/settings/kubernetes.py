"""Settings of the write-back to Kubernetes."""

import os
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, field_validator, model_validator

from ...settings import SettingsSection
from ...vocabulary.incidents import Confidence
from .store import check_faults, check_url

MOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def _without_slash(text: str) -> str:
    if text:
        check_url(text)
    return text.rstrip("/")


ApiServer = Annotated[str, AfterValidator(_without_slash)]
"""The address of an API server, "" where that is left to `address_of`."""


class KubernetesSettings(SettingsSection):
    """A node condition and events for hosts that a first cause names. Changes nothing else."""

    write_back: bool = Field(
        default=False,
        description="Set the condition RankscopeDegraded on the node of a first cause's host, and "
        "write events about it",
    )
    faults: tuple[str, ...] = Field(
        default=(
            "gpu.*",
            "host.*",
            "network.nic_down",
            "network.link_flap",
            "network.cable_errors",
        ),
        min_length=1,
        description="Patterns of fault ids that count",
    )
    min_probability: float | None = Field(
        default=None, ge=0, le=1, description="How probable the first cause must be; null: any"
    )
    min_confidence: Confidence = Field(
        default="high", description="The same where a cause has no calibrated probability"
    )
    api_server: ApiServer = Field(
        default="",
        description="Address of the API server; empty: from KUBERNETES_SERVICE_HOST",
    )
    credentials: Path = Field(
        default=MOUNT, description="Folder with the service account's `token` and `ca.crt`"
    )

    @field_validator("faults")
    @classmethod
    def _of_the_catalogue(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        check_faults(patterns)
        return patterns

    @model_validator(mode="after")
    def _within_kubernetes(self) -> "KubernetesSettings":
        if not self.write_back:
            return self
        if not self.server:
            raise ValueError(
                "write_back: this process does not run in Kubernetes (KUBERNETES_SERVICE_HOST is "
                "not set); run the collector there, or set api_server and credentials"
            )
        if not (self.credentials / "token").is_file():
            raise ValueError(
                f"write_back: there is no service account's token at {self.credentials}/token; "
                "give the pod the account of deploy/kubernetes/components/write-back, with its "
                "token mounted"
            )
        return self

    @property
    def server(self) -> str:
        """Return the address of the API server, "" where it is not known."""
        return address_of(self.api_server)


def address_of(api_server: str) -> str:
    """Return the address of the API server: as set, else of the pod's own cluster, "" outside."""
    host = os.environ.get("KUBERNETES_SERVICE_HOST", "")
    if api_server or not host:
        return api_server
    port = os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
