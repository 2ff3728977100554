"""One attempt at one delivery over HTTP, with an end: whatever the receiver does, it is an Outcome.

No redirects, no proxies of the environment, and of the answer its head and a few kilobytes. Neither
the address nor a header of ours is ever part of an error text: both can hold secrets.
"""

import asyncio
import logging
import ssl
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import cache

import certifi
import httpx

from ...alerts.ports import DeliveryOutcome, HttpPost
from . import addresses
from .addresses import ForbiddenAddressError, Resolve

TIMEOUT_SECONDS = 15.0
"""For the whole attempt, name resolution aside; Standard Webhooks says 15 to 30 s."""
LONGEST_RETRY_AFTER = 24 * 3600.0
MOST_READ_BYTES = 4096
"""Of the answer's body: some receivers put their error codes there."""

Read = Callable[[int, bytes], DeliveryOutcome]
"""What a format makes of a status and the beginning of a body."""

_USER_AGENT = "rankscope-webhook/1"

# Both write whole addresses, and the second one headers, into their own logs.
for _name in ("httpx", "httpcore"):
    logging.getLogger(_name).setLevel(logging.WARNING)


def send(
    request: HttpPost,
    *,
    outcome: Read,
    resolve: Resolve = addresses.resolve,
    now: Callable[[], float],
    timeout_seconds: float = TIMEOUT_SECONDS,
) -> DeliveryOutcome:
    """POST a request and return how it ended; it never raises for anything the receiver does.

    `outcome` says what the answer means, Retry-After aside.
    """
    try:
        target = httpx.URL(request.url)
        port = target.port or (443 if target.scheme == "https" else 80)
        hosts = addresses.checked(target.host, port, resolve=resolve)
    except ForbiddenAddressError as error:
        return DeliveryOutcome(None, str(error))
    except (OSError, UnicodeError) as error:
        return DeliveryOutcome(None, f"the receiver's name is not known: {_reason(error)}")
    except httpx.InvalidURL:
        return DeliveryOutcome(None, "the address cannot be used")
    try:
        return asyncio.run(
            _post(
                target,
                hosts,
                request=request,
                outcome=outcome,
                now=now,
                timeout_seconds=timeout_seconds,
            )
        )
    except TimeoutError:
        return DeliveryOutcome(None, f"no answer within {timeout_seconds:g} s")
    except (httpx.HTTPError, OSError, ValueError) as error:
        return DeliveryOutcome(None, f"{type(error).__name__}: {_reason(error)}")


async def _post(
    target: httpx.URL,
    hosts: list[str],
    *,
    request: HttpPost,
    outcome: Read,
    now: Callable[[], float],
    timeout_seconds: float,
) -> DeliveryOutcome:
    client = httpx.AsyncClient(
        verify=_trust(), trust_env=False, follow_redirects=False, timeout=timeout_seconds
    )
    async with asyncio.timeout(timeout_seconds), client:
        for last, host in ((host == hosts[-1], host) for host in hosts):
            built = client.build_request(
                "POST",
                target.copy_with(host=host),
                content=request.body,
                headers={
                    "user-agent": _USER_AGENT,
                    **request.headers,
                    "host": target.netloc.decode("ascii"),
                },
                # The certificate must be the name's, though the connection goes to an address.
                extensions={"sni_hostname": target.raw_host.decode("ascii")},
            )
            try:
                response = await client.send(built, stream=True)
            except httpx.ConnectError:
                if last:
                    raise
                continue
            try:
                found = outcome(response.status_code, await _beginning(response))
                asked = _retry_after(response.headers.get("retry-after"), now())
                if found.accepted or asked is None:
                    return found
                return replace(found, retry_after=max(asked, found.retry_after or 0.0))
            finally:
                await response.aclose()
    return DeliveryOutcome(None, "the receiver's name has no address")


async def _beginning(response: httpx.Response) -> bytes:
    """Return the first bytes of the body, empty where it cannot be read: the status counts."""
    found = b""
    try:
        async for chunk in response.aiter_raw(MOST_READ_BYTES):
            found += chunk
            if len(found) >= MOST_READ_BYTES:
                break
    except httpx.HTTPError:
        pass
    return found[:MOST_READ_BYTES]


def _retry_after(text: str | None, now: float) -> float | None:
    """Return the seconds that a Retry-After header asks for: a number of them, or a date."""
    if text is None:
        return None
    try:
        seconds = float(text) if text.strip().isdecimal() else _until(text, now)
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(seconds, 0.0), LONGEST_RETRY_AFTER)


def _until(text: str, now: float) -> float:
    moment = parsedate_to_datetime(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - now


def _reason(error: Exception) -> str:
    """Return what the system said, without what a library may have added to it."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
        cause = cause.__cause__ or cause.__context__
    return "connection failed"


@cache
def _trust() -> ssl.SSLContext:
    # The machine's authorities, a site's own among them, and the public ones where it has none.
    # Reading them takes tens of milliseconds: once a process.
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context
