"""Lines about a host that do not name it: which host they are of.

A full `/dev/shm`, a full disk or a kill for memory is a host's, whichever of its processes says so.
"""

from collections.abc import Mapping
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


def by_prefix(event: Event) -> Event:
    """Return an event with the host that NCCL wrote before its line, where it is about that."""
    if event.resource.host or event.attributes.get("signature") not in _OF_TRANSPORTS:
        return event
    return placed(event, nccl_ranks.host_of(str(event.attributes.get("text", ""))))


def host_of(known: Mapping[int, str], named: AbstractSet[str]) -> str:
    """Return the host that such lines are of, "" where several may be it.

    known: by rank the host, "" for one that nothing names; named: hosts that other lines name.
    """
    hosts = {*known.values(), *named} - _UNNAMED
    if len(hosts) > 1:
        return ""
    return next(iter(hosts), UNNAMED_HOST)


def placed(event: Event, host: str) -> Event:
    """Return an event with its host."""
    return replace(event, resource=replace(event.resource, host=host))
