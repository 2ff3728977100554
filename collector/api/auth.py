"""Who may do what: bearer tokens with roles ingest < read < admin, limited to jobs where wanted.

Without any token configured everything is open, and the collector listens on loopback only.
"""

import hashlib
import hmac
import math
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Annotated

from fastapi import Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from ...vocabulary.clock import Clock
from ..settings.api import ApiSettings, Role
from . import asking
from .problems import ProblemError
from .token_failures import TokenFailures

_RANK: dict[Role, int] = {"ingest": 0, "read": 1, "admin": 2}
_PLAIN_HOST = re.compile(rb"(?:localhost|[0-9]{1,3}(?:\.[0-9]{1,3}){3})(?::[0-9]{1,5})?")
"""A Host that certainly names this machine or an address."""
_BEARER = HTTPBearer(auto_error=False, description="A token of the settings, section api.tokens")


@dataclass(frozen=True, slots=True)
class TokenPrincipal:
    """Who asks. `jobs` are patterns of the jobs it may see; empty: all, and what has no job."""

    role: Role
    jobs: tuple[str, ...] = ()
    name: str = ""
    expires_at: float = math.inf
    """When its token is valid no longer, in seconds since the epoch."""
    sender: bytes = b""
    """The digest of its token: whose share of what all senders have its bytes take."""

    @property
    def limited(self) -> bool:
        """Return whether only some jobs may be seen."""
        return bool(self.jobs)

    def permits(self, jobs: Iterable[str]) -> bool:
        """Return whether all of these jobs may be seen; a limited token may not see "no job"."""
        jobs = list(jobs)
        if not self.jobs:
            return True
        return bool(jobs) and all(
            any(fnmatchcase(job, pattern) for pattern in self.jobs) for job in jobs
        )

    def check_job(self, job: str) -> None:
        """Raise ProblemError 403 unless this job may be seen."""
        if not self.permits([job]):
            raise ProblemError(403, f"this token is not for job {job!r}")

    def check_unlimited(self) -> None:
        """Raise ProblemError 403 for a token that is limited to some jobs."""
        if self.limited:
            raise ProblemError(403, "this concerns every job, and this token is limited to some")


OPEN = TokenPrincipal("admin")
"""Everybody, where no token is configured."""

LOOKING = TokenPrincipal("read")
"""Everybody, where the past is looked at, which nobody may change."""

Require = Callable[..., Awaitable[TokenPrincipal]]


class TokenGuard:
    """Holds the tokens. `require(role)` is a FastAPI dependency that returns who asks."""

    def __init__(
        self,
        settings: ApiSettings,
        *,
        failures: TokenFailures,
        clock: Clock,
        everybody: TokenPrincipal = OPEN,
    ) -> None:
        """`everybody`: who asks where no token is configured."""
        self._everybody = everybody
        self._failures = failures
        self._clock = clock
        # Digests have one length, so comparing them says nothing about the tokens' own.
        self._tokens = [
            (
                row.digest,
                TokenPrincipal(row.role, row.jobs, row.name, row.expires_at_seconds, row.digest),
            )
            for row in settings.tokens
        ]
        self._by_digest = dict(self._tokens)

    @property
    def open(self) -> bool:
        """Return whether everybody may do everything."""
        return not self._tokens

    def admitted(self, headers: Mapping[bytes, bytes]) -> TokenPrincipal | None:
        """Return who sends, where that is beyond question; None: ask `require`, which says why not.

        headers: of a request, each once, by their names in small letters. Any role may send.
        """
        if self.open:
            plain = _PLAIN_HOST.fullmatch(headers.get(b"host", b""))
            return self._everybody if plain and b"sec-fetch-site" not in headers else None
        scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
        return self._valid(token) if scheme == b"Bearer" else None

    def sender(self, headers: Iterable[tuple[bytes, bytes]]) -> TokenPrincipal | None:
        """Return who sends a request, None for a token that is missing, unknown or expired.

        headers: by their names in small letters. What `require` refuses besides is its to say.
        """
        if self.open:
            return self._everybody
        given = next((value for name, value in headers if name == b"authorization"), b"")
        scheme, _, token = given.partition(b" ")
        return self._valid(token) if scheme.lower() == b"bearer" else None

    def _valid(self, token: bytes) -> TokenPrincipal | None:
        # Looked up by its digest: how long that takes says nothing about a token.
        found = self._by_digest.get(hashlib.sha256(token).digest())
        return found if found is not None and self._clock.now() < found.expires_at else None

    def require(self, role: Role) -> Require:
        """Return the dependency that lets pass who has at least this role."""

        async def check(
            request: Request,
            given: Annotated[HTTPAuthorizationCredentials | None, Security(_BEARER)],
        ) -> TokenPrincipal:
            principal = await self._principal(given, request)
            if _RANK[principal.role] < _RANK[role]:
                self._failures.count("role")
                raise ProblemError(
                    403,
                    f"this needs a token of role {role}, and this one has {principal.role}",
                    headers={"www-authenticate": 'Bearer error="insufficient_scope"'},
                )
            request.state.principal = principal
            asking.token_name.set(principal.name)
            return principal

        return check

    async def _principal(
        self, given: HTTPAuthorizationCredentials | None, request: Request
    ) -> TokenPrincipal:
        if self.open:
            return self._everybody
        if given is None:
            self._failures.count("missing")
            raise ProblemError(
                401, "send Authorization: Bearer TOKEN", headers={"www-authenticate": "Bearer"}
            )
        digest = hashlib.sha256(given.credentials.encode()).digest()
        found: TokenPrincipal | None = None
        for expected, principal in self._tokens:  # all of them, so that time says nothing
            if hmac.compare_digest(expected, digest):
                found = principal
        if found is None:
            address = request.client.host if request.client else None
            await self._failures.wrong(address, request.url.path)
            raise ProblemError(
                401,
                "this token is not configured",
                headers={"www-authenticate": 'Bearer error="invalid_token"'},
            )
        if self._clock.now() >= found.expires_at:
            self._failures.count("expired")
            raise ProblemError(
                401,
                "this token has expired",
                headers={"www-authenticate": 'Bearer error="invalid_token"'},
            )
        return found
