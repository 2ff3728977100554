"""The parallel layout of a job, from the groups that its ranks were in.

Frameworks describe their groups: Megatron as TENSOR_MODEL_PARALLEL_GROUP and the like, torch's
DeviceMesh as mesh_<dimension>. A rank's place in its group of a kind is its coordinate there.
"""

from collections.abc import Iterable, Mapping

from ...vocabulary.groups import ProcessGroup

_DIMENSIONS: Mapping[str, tuple[str, ...]] = {
    "tp": ("TENSOR_MODEL_PARALLEL_GROUP", "MESH_TP"),
    "pp": ("PIPELINE_MODEL_PARALLEL_GROUP", "MESH_PP"),
    "dp": ("DATA_PARALLEL_GROUP", "DATA_PARALLEL_GROUP_WITH_CP", "MESH_DP"),
    "ep": ("EXPERT_MODEL_PARALLEL_GROUP", "MESH_EP"),
}
"""Of each dimension the descriptions of the groups along it, in upper case."""


def dimensions(groups: Iterable[ProcessGroup]) -> dict[str, list[ProcessGroup]]:
    """Return by dimension (tp, pp, dp, ep) the groups along it, where groups name one."""
    known = list(groups)
    found: dict[str, list[ProcessGroup]] = {}
    for dimension, descriptions in _DIMENSIONS.items():
        for description in descriptions:
            along = [group for group in known if group.desc.upper() == description]
            if along:
                found[dimension] = sorted(along, key=lambda group: group.ranks)
                break
    return found


def coordinates(found: Mapping[str, Iterable[ProcessGroup]], rank: int) -> dict[str, int]:
    """Return a rank's place in its group of each dimension."""
    return {
        dimension: group.ranks.index(rank)
        for dimension, groups in found.items()
        for group in groups
        if rank in group.ranks
    }
