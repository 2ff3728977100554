"""Hosts that no line names, where what failed is a host's: a full disk, a driver."""

from dataclasses import replace
from typing import TYPE_CHECKING

from ...formats.training_logs import signatures
from ...vocabulary.samples import Event, TelemetryResource
from .endings import UNDATED
from .verdicts import UNNAMED_HOST

if TYPE_CHECKING:
    from .logs import LogContents


def place(gathered: "LogContents") -> None:
    """Give lines about what is a host's the host of their rank, else one that stands for it.

    Not those that steps followed: the job lived on.
    """
    last = max((sample.at for _, sample in gathered.samples), default=0.0)
    for number, (rank, host, event) in enumerate(gathered.events):
        if not _about_a_host(event) or UNDATED < event.at < last:
            continue
        if rank is not None:
            process = gathered.process(rank)
            process.host = process.host or UNNAMED_HOST
        elif not event.resource.host:
            resource = TelemetryResource(_host(gathered))
            gathered.events[number] = (rank, host, replace(event, resource=resource))


def _about_a_host(event: Event) -> bool:
    pairs = event.attributes
    return (
        event.name == "log.fault"
        and pairs.get("role") == "root"
        and pairs.get("signature") in signatures.about_hosts()
    )


def _host(gathered: "LogContents") -> str:
    """Return the only host that is known, else the one that stands for it, of all ranks of none."""
    known = {process.host for process in gathered.processes.values()} - {""}
    if len(known) == 1:
        return next(iter(known))
    spare = [rank for rank, process in gathered.processes.items() if not process.host]
    for rank in spare or ([] if known else [0]):
        gathered.process(rank).host = UNNAMED_HOST
    return UNNAMED_HOST
