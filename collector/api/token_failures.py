"""Requests with wrong tokens leave a trace: counted, logged once a source, answered ever slower.

A source is the address that connected, an IPv6 one by its /64; behind a proxy all are one source.
Only wrong answers are delayed: who has a right token is served at once, from the same address too.
"""

import ipaddress
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Literal, get_args

import structlog
from prometheus_client import CollectorRegistry, Counter

from ...vocabulary.clock import Clock

Sleep = Callable[[float], Awaitable[None]]
Reason = Literal["missing", "unknown", "expired", "role"]

FREE = 5
"""Failures of a source that are answered at once: a person who pastes the wrong token."""
LONGEST_SECONDS = 5.0
"""The longest delay of one answer."""
FORGET_SECONDS = 600.0
"""A source without failures for so long starts again, and is logged again."""
MOST_SOURCES = 1000
MOST_DELAYED = 256
"""Answers that wait at a time; further ones are sent at once, so that waiting costs us little."""
_FIRST_SECONDS = 0.1
_LINES_A_MINUTE = 10

_LOG = structlog.get_logger(__name__)


class TokenFailures:
    """Remembers who failed lately, in bounded memory. Belongs to the event loop."""

    def __init__(self, clock: Clock, *, registry: CollectorRegistry, sleep: Sleep) -> None:
        self._clock = clock
        self._sleep = sleep
        self._sources: OrderedDict[str, tuple[int, float]] = OrderedDict()
        self._delayed = 0
        self._minute: tuple[int, int] = (0, 0)
        self._count = Counter(
            "rankscope_collector_token_failures",
            "Requests refused for their token: missing, unknown, expired, or of too low a role.",
            ["reason"],
            registry=registry,
        )
        for reason in get_args(Reason):
            self._count.labels(reason)

    def count(self, reason: Reason) -> None:
        """Count a refusal that is no guess at a token."""
        self._count.labels(reason).inc()

    async def wrong(self, address: str | None, path: str) -> None:
        """Note a wrong token, and return when its answer is due."""
        self._count.labels("unknown").inc()
        source = _source(address)
        now = self._clock.now()
        failures, last = self._sources.pop(source, (0, now))
        if now - last > FORGET_SECONDS:
            failures = 0
        failures += 1
        self._sources[source] = (failures, now)
        if len(self._sources) > MOST_SOURCES:
            self._sources.popitem(last=False)
        if failures == 1:
            self._log(source, path, now)
        delay = _delay(failures)
        if delay and self._delayed < MOST_DELAYED:
            self._delayed += 1
            try:
                await self._sleep(delay)
            finally:
                self._delayed -= 1

    def _log(self, source: str, path: str, now: float) -> None:
        """Log a source's first failure; a flood of sources does not become a flood of lines."""
        minute, lines = self._minute
        lines = lines + 1 if minute == int(now // 60) else 1
        self._minute = (int(now // 60), lines)
        if lines < _LINES_A_MINUTE:
            _LOG.warning("unknown token refused; logged once per source", source=source, path=path)
        elif lines == _LINES_A_MINUTE:
            _LOG.warning(
                "unknown tokens from many sources; further ones of this minute are only counted "
                "in rankscope_collector_token_failures_total",
                source=source,
            )


def _delay(failures: int) -> float:
    if failures <= FREE:
        return 0.0
    return min(_FIRST_SECONDS * 2.0 ** min(failures - FREE - 1, 16), LONGEST_SECONDS)


def _source(address: str | None) -> str:
    """Return what counts as one source: an IPv4 address, the /64 of an IPv6 one."""
    try:
        found = ipaddress.ip_address((address or "").partition("%")[0])
    except ValueError:
        return "unknown"
    if isinstance(found, ipaddress.IPv6Address):
        mapped = found.ipv4_mapped
        if mapped is not None:
            return str(mapped)
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)
