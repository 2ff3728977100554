"""Settings of what is written into a store of the site."""

import re

from pydantic import Field, field_validator

from .site_store import SiteStore
from .store import check_url

_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


class LongTermSettings(SiteStore):
    """Where incidents, findings, compute time and goodput are written to, by remote write."""

    url: str = Field(
        default="",
        description="Where to write to, such as http://prometheus:9090/api/v1/write or "
        "http://victoria-metrics:8428/api/v1/write; empty: nowhere",
    )
    interval_seconds: float = Field(
        default=15.0, ge=1.0, le=300.0, description="Seconds between two samples of a series"
    )
    labels: dict[str, str] = Field(
        default_factory=dict,
        description="Labels added to every series, such as {collector: a} where several collectors "
        "write into one store",
    )
    queue_bytes: int = Field(
        default=64 << 20,
        ge=1 << 16,
        description="Memory of what the store does not take yet; the oldest goes first, counted",
    )

    @field_validator("url")
    @classmethod
    def _address(cls, text: str) -> str:
        if text:
            check_url(text)
        return text

    @field_validator("labels")
    @classmethod
    def _are_labels(cls, labels: dict[str, str]) -> dict[str, str]:
        for name in labels:
            if _NAME.fullmatch(name) is None or name.startswith("__"):
                raise ValueError(f"{name!r} is not a label name: letters, digits and _")
        return labels

    @property
    def address(self) -> str:
        """Return the address as warnings show it: never with what may be a secret."""
        return self.bare_url.partition("?")[0]
