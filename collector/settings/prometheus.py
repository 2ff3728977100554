"""Settings of the stores that are polled."""

import re

from pydantic import Field, field_validator

from .site_store import SiteStore
from .store import check_url

_MATCHER = re.compile(r'[a-zA-Z_][a-zA-Z0-9_]*(?:=~|!~|!=|=)"(?:[^"\\\n]|\\.)*"')


class PrometheusSettings(SiteStore):
    """One Prometheus-compatible store that is asked for what it scraped."""

    url: str = Field(
        description="Address before /api/v1/query, such as http://prometheus:9090 or "
        "http://mimir/prometheus"
    )
    name: str = Field(
        default="",
        pattern=r"^[A-Za-z0-9_.-]{0,64}$",
        description="Name in metrics and warnings; default: made from the address",
    )
    interval_seconds: float = Field(
        default=15.0, ge=1.0, le=300.0, description="Seconds between two polls"
    )
    delay_seconds: float = Field(
        default=5.0,
        ge=0.0,
        le=300.0,
        description="How far polls stay behind the clock: scrapes take time, and so does the way "
        "into a store behind remote write",
    )
    catch_up_seconds: float = Field(
        default=300.0,
        ge=0.0,
        le=3600.0,
        description="How far back is asked after the store was away; what is older is left out",
    )
    matchers: tuple[str, ...] = Field(
        default=(),
        description='Label matchers added to every query, such as cluster="a" or node=~"gpu-.*"',
    )
    max_series: int = Field(
        default=200_000,
        ge=100,
        description="Series asked for at most; of more, those of the metrics that matter least are "
        "left out, and said",
    )
    page_series: int = Field(
        default=20_000, ge=100, description="Series of one query, as far as metrics allow it"
    )
    max_bytes: int = Field(
        default=64 << 20, ge=1 << 16, description="Largest answer, not compressed, that is read"
    )

    @field_validator("url")
    @classmethod
    def _address(cls, text: str) -> str:
        check_url(text)
        return text.rstrip("/").removesuffix("/api/v1/query").removesuffix("/api/v1")

    @field_validator("matchers")
    @classmethod
    def _are_matchers(cls, texts: tuple[str, ...]) -> tuple[str, ...]:
        for text in texts:
            if _MATCHER.fullmatch(text) is None:
                raise ValueError(f'{text} is not a matcher; write label="value" or label=~"regex"')
        return texts

    @property
    def label(self) -> str:
        """Return the name in metrics and warnings: never with what may be a secret."""
        return self.name or self.bare_url.partition("/")[0]
