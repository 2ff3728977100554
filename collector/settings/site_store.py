"""How a store of the site is reached: one that is asked what it scraped, or that is written to."""

import re
from collections.abc import Mapping

import httpx
from pydantic import Field, SecretStr

from ...settings import SettingsSection


class SiteStore(SettingsSection):
    """Address and rights of a Prometheus-compatible store."""

    url: str = ""
    token: SecretStr = Field(default=SecretStr(""), description="Bearer token")
    username: str = Field(default="", description="User of basic authentication")
    password: SecretStr = Field(default=SecretStr(""), description="Password of it")
    tenant: str = Field(default="", description="X-Scope-OrgID of Mimir, THANOS-TENANT of Thanos")
    timeout_seconds: float = Field(default=10.0, gt=0.0, le=120.0, description="Of one request")

    @property
    def bare_url(self) -> str:
        """Return the address without scheme, user and password: what may be shown."""
        return re.sub(r"^https?://(?:[^@/]*@)?", "", self.url)

    def client(
        self, headers: Mapping[str, str], transport: httpx.BaseTransport | None = None
    ) -> httpx.Client:
        """Return a client with the rights of these settings, which goes where they say only."""
        sent = {"User-Agent": "rankscope", **headers}
        if token := self.token.get_secret_value():
            sent["Authorization"] = f"Bearer {token}"
        if self.tenant:
            sent |= {"X-Scope-OrgID": self.tenant, "THANOS-TENANT": self.tenant}
        user = (self.username, self.password.get_secret_value())
        return httpx.Client(
            headers=sent,
            auth=user if self.username else None,
            timeout=self.timeout_seconds,
            follow_redirects=False,
            trust_env=False,
            transport=transport,
        )
