"""Which root an incident blames that jobs of other partitions may blame too."""

from ...vocabulary.incidents import RootCause
from ...vocabulary.topology import JobTopology
from .. import changes, first_cause
from ..causes.catalogue import cause_of
from .roots import RACK

TYPES = ("switch", "storage", "host")
"""Entities under several jobs. A device or port is nearly always of one job, and its incident
waits for no answer."""


def shared_root(cause: RootCause, cluster: str | None, *, topology: JobTopology) -> str | None:
    """Return the root's name, the same in every partition; None where it is one job's own.

    A described change is shared wherever it was made; a fault that cooling or power brings by the
    hosts behind one leaf switch.
    """
    first = cause.hypotheses[0]
    change = changes.blamed(cause)
    if change is not None:
        return _name("change", cluster, first.fault, change)
    host = topology.host_of_entity(first.entity)
    switch = None if host is None else topology.switches.get(host)
    entry = cause_of(first.fault)
    if switch is not None and entry is not None and entry.of_a_rack:
        return _name(RACK, cluster, first.fault, switch)
    fault, kind, name = first_cause.key(cause)
    return _name(kind, cluster, fault, name) if kind in TYPES else None


def _name(kind: str, cluster: str | None, *words: str) -> str:
    return "\0".join((kind, cluster or "", *words))
