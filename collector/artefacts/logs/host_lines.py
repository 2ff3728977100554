"""Lines about a host that do not name it: which host they are of.

A full `/dev/shm`, a full disk or a kill for memory is a host's, whichever of its processes says so.
"""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import replace

from ....formats.training_logs import signatures
from ....vocabulary.entities import UNNAMED_HOST
from ....vocabulary.samples import Event
from ..job import nccl_ranks

_OF_TRANSPORTS = frozenset({"nccl.ib_not_found", "nccl.net_socket"})
"""Signatures of what NCCL found on a host, whichever of its processes says so."""

_UNNAMED = frozenset({"", UNNAMED_HOST})


def about_host(event: Event) -> bool:
    """Tell whether an event is about what all processes of a host share, which no line names."""
    if event.resource.host not in _UNNAMED:
        return False
    said = event.attributes.get("signature")
    return event.name == "host.oom_kill" or (
        event.name == "log.fault"
        and event.attributes.get("role") == "root"
        and said in signatures.of_hosts()
    )


def of_transport(event: Event) -> bool:
    """Tell whether an event is about a host's network, as NCCL found it."""
    return event.attributes.get("signature") in _OF_TRANSPORTS


def by_prefix(event: Event) -> Event:
    """Return an event with the host that NCCL wrote before its line, where it has none."""
    if event.resource.host not in _UNNAMED:
        return event
    wrote = nccl_ranks.host_of(str(event.attributes.get("text", "")))
    return placed(event, wrote) if wrote else event


def host_of(named: Iterable[str], wrote: AbstractSet[str]) -> str:
    """Return the host that such lines are of, "" where several may be it.

    named: hosts of ranks and of other lines, "" for one that nothing names; wrote: those where NCCL
    wrote lines, which calls a host as its container does.
    """
    hosts = {*named} - _UNNAMED
    if len(hosts) > 1:
        return ""
    hosts = hosts or (set(wrote) if len(wrote) == 1 else set())
    return next(iter(hosts), UNNAMED_HOST)


def placed(event: Event, host: str) -> Event:
    """Return an event with its host."""
    return replace(event, resource=replace(event.resource, host=host))
