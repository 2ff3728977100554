"""Hosts that no line names, where what failed is a host's: a full disk, a driver."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ...formats.training_logs import signatures
from ...vocabulary.samples import Event, TelemetryResource
from .endings import UNDATED
from .verdicts import UNNAMED_HOST

FiledEvents = list[tuple[int | None, str, Event]]
"""Events, each with its rank and a file."""


def placed(
    events: Iterable[tuple[int | None, str, Event]], known: Mapping[int, str], last: float
) -> tuple[FiledEvents, dict[int, str]]:
    """Return events with the hosts of those about one, and the hosts of ranks that follow.

    `known`: the hosts of ranks, "" where no line says one: another name stands for it then. Lines
    before the last step at `last`, s since the epoch, accuse no host: the job lived on.
    """
    hosts, found = dict(known), FiledEvents()
    for rank, file, event in events:
        if _about_a_host(event) and not UNDATED < event.at < last:
            if rank is not None:
                hosts[rank] = hosts.get(rank) or UNNAMED_HOST
            elif not event.resource.host:
                resource = TelemetryResource(_only(hosts))
                found.append((rank, file, replace(event, resource=resource)))
                continue
        found.append((rank, file, event))
    return found, hosts


def _about_a_host(event: Event) -> bool:
    pairs = event.attributes
    return (
        event.name == "log.fault"
        and pairs.get("role") == "root"
        and pairs.get("signature") in signatures.about_hosts()
    )


def _only(hosts: dict[int, str]) -> str:
    """Return the only host that is known, else the one that stands for it, of all ranks of none."""
    known = set(hosts.values()) - {""}
    if len(known) == 1:
        return next(iter(known))
    spare = [rank for rank, host in hosts.items() if not host]
    hosts.update(dict.fromkeys(spare or ([] if known else [0]), UNNAMED_HOST))
    return UNNAMED_HOST
