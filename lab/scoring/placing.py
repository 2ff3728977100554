"""Whether an entity that an incident names is the one at fault, and whether it accuses another.

A named entity is *exact* when type and id are those of the truth. It is *right* when it is exact,
or when it lies on the true one or contains it,
closely enough that whoever acts on it acts on the fault:

- Truth on one host (rank, gpu, nic, process, host, storage of one host): the named entity is on the
  same host, and it is that host, or the truth is that host, or both have ranks and those of one
  include those of the other (rank 3 and the GPU under rank 3; a NIC and a rank that uses it). A
  neighbour on the same host is not right.
- Truth that is a group: a group or rank whose ranks all are members, or the group that holds them.
- Truth that is a switch or shared storage: the same one only.
- Truth that is a job or its code: a job or code of the same id. A job contains everything, so
  naming it is right for nothing else.
- Truth at several entities (`accepted`): whichever of them the named entity is right for.
- A first cause "unknown": its entity counts as above. Where it names the job only, the ranks that
  stand out in the symptoms count in its place: right where there are any and all are placed on the
  true entity.
"""

from ...vocabulary.entities import Entity
from ...vocabulary.faults import UNKNOWN
from .seen import CaseTruth, SeenIncident

_ON_ONE_HOST = ("rank", "gpu", "nic", "process", "host", "storage")
_NODES = ("host", "gpu", "rank", "nic", "process")
"""What somebody would drain, restart or replace when it is accused."""


def exact(named: Entity | None, truth: Entity) -> bool:
    return named is not None and (named.type, named.id) == (truth.type, truth.id)


def right(found: SeenIncident, truth: CaseTruth) -> bool:
    """Return whether an incident points at the true entity, by the rules of this module."""
    true, named = truth.entity, found.entity
    if at_fault(named, truth):
        return True
    unplaced = named is None or named.type == "job"
    if found.fault != UNKNOWN or not unplaced or true.type in ("job", "code"):
        return False
    out = found.standing_out.members
    return bool(out) and any(out <= entity.ranks.members for entity in truth.entities)


def at_fault(named: Entity | None, truth: CaseTruth) -> bool:
    return any(placed(named, entity) for entity in truth.entities)


def placed(named: Entity | None, true: Entity) -> bool:
    """Return whether the named entity is the true one, lies on it, or contains it closely."""
    if named is None:
        return False
    if exact(named, true):
        return True
    if true.type in ("job", "code"):
        return named.type in ("job", "code") and named.id == true.id
    if true.type == "group":
        return named.type in ("group", "rank") and _nested(named, true)
    if true.type == "storage" and (named.type == "storage" or true.host is None):
        return named.type == "storage" and named.id.rpartition(":")[2] == true.id.rpartition(":")[2]
    if true.type not in _ON_ONE_HOST or named.type not in _ON_ONE_HOST:
        return False
    if true.host is None or named.host != true.host:
        return False
    return "host" in (named.type, true.type) or _nested(named, true)


def accuses(found: SeenIncident, truth: CaseTruth | None) -> bool:
    """Return whether an incident accuses a healthy node.

    It does where its first hypothesis names a host, gpu, rank, nic or process that is not placed on
    the true entity, not on its host where that is itself at fault, and among no affected ranks: the
    ranks on the true entity, unless that is the whole job.
    """
    named = found.entity
    if named is None or named.type not in _NODES:
        return False
    if truth is None:
        return True
    if at_fault(named, truth):
        return False
    if truth.entity.type in ("job", "code"):
        return True
    affected = {rank for entity in truth.entities for rank in entity.ranks}
    return not (named.ranks and named.ranks.members <= affected)


def _nested(one: Entity, other: Entity) -> bool:
    """Return whether the ranks of one include those of the other, and neither has none."""
    first, second = one.ranks.members, other.ranks.members
    return bool(first and second) and (first <= second or second <= first)
