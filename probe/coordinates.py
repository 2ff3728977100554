"""Where this rank stands in the parallel layout: its data, tensor, pipeline and expert index.

Asked of what the job itself has set up: Megatron's `parallel_state`, DeepSpeed's `groups`, and the
descriptions of torch's process groups, which DeviceMesh names after its dimensions. Nothing is
imported and no group is made: only state that is there is read, so that no collective starts here.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

_MEGATRON = "megatron.core.parallel_state"
_DEEPSPEED = "deepspeed.utils.groups"

_ASKED = {
    "tp": ("get_tensor_model_parallel_rank", "get_model_parallel_rank"),
    "pp": ("get_pipeline_model_parallel_rank", "get_pipe_parallel_rank"),
    "dp": ("get_data_parallel_rank",),
    "ep": ("get_expert_model_parallel_rank",),
}
"""Functions of Megatron's module, and of the object that DeepSpeed is given in its place."""

_DESCRIBED = {
    "tp": ("TENSOR_MODEL_PARALLEL_GROUP", "mesh_tp", "mesh_tensor"),
    "pp": ("PIPELINE_MODEL_PARALLEL_GROUP", "mesh_pp", "mesh_pipe", "mesh_pipeline"),
    "dp": ("DATA_PARALLEL_GROUP", "mesh_dp", "mesh_data", "mesh_fsdp"),
    "ep": ("EXPERT_MODEL_PARALLEL_GROUP", "mesh_ep", "mesh_expert"),
}
"""Descriptions of process groups, the first that is there counts."""

_REPLICATED = ("mesh_dp_replicate", "mesh_replicate")
_SHARDED = ("mesh_dp_shard", "mesh_shard")
"""The two dimensions of hybrid sharding, outer and inner: together the data-parallel one."""

_MOST_GROUPS = 4096


class ParallelCoordinates:
    """Reads them again whenever the job has made another group; for one thread."""

    def __init__(self) -> None:
        self._seen = -1
        self._settled = -1
        self._found: dict[str, int] = {}

    def read(self, dist: Any) -> Mapping[str, int]:
        """Return the indices that are known, by dp, tp, pp, ep; never raises."""
        try:
            names = dist.distributed_c10d._world.pg_names  # noqa: SLF001  no public list of groups
            count = len(names)
            # Frameworks note a group after torch made it, so the same number must be seen twice.
            if count != self._settled:
                self._settled = count if count == self._seen else -1
                self._seen = count
                self._found = _found(dist, names, int(dist.get_rank()))
        except Exception:  # noqa: BLE001  the edge of the job: no indices rather than an error
            self._found = {}
        return self._found


def _found(dist: Any, names: Mapping[Any, Any], rank: int) -> dict[str, int]:
    found: dict[str, int] = {}
    for source in (_megatron, lambda: _deepspeed(dist), lambda: _described(dist, names, rank)):
        for name, index in source():
            found.setdefault(name, index)
    return found


def _megatron() -> Iterator[tuple[str, int]]:
    state = sys.modules.get(_MEGATRON)
    if state is not None and _call(state, "model_parallel_is_initialized"):
        yield from _answers(state)


def _deepspeed(dist: Any) -> Iterator[tuple[str, int]]:
    groups = sys.modules.get(_DEEPSPEED)
    if groups is None:
        return
    if (grid := getattr(groups, "mpu", None)) is not None:
        yield from _answers(grid)
    held = {
        "ep": next(iter((getattr(groups, "_EXPERT_PARALLEL_GROUP", None) or {}).values()), None),
        "tp": getattr(groups, "_TENSOR_MODEL_PARALLEL_GROUP", None),
        "dp": getattr(groups, "_DATA_PARALLEL_GROUP", None),
    }
    for name, group in held.items():
        # Its own functions would make a group that is not there yet: a collective.
        index = _whole(partial(dist.get_rank, group=group)) if group is not None else None
        if index is not None:
            yield name, index


def _answers(state: object) -> Iterator[tuple[str, int]]:
    for name, functions in _ASKED.items():
        for function in functions:
            index = _call(state, function)
            if index is not None:
                yield name, index
                break


def _described(dist: Any, names: Mapping[Any, Any], rank: int) -> Iterator[tuple[str, int]]:
    """Yield the place of this rank among the members of its groups, by their descriptions."""
    held: dict[str, tuple[int, int]] = {}
    for group in tuple(names)[:_MOST_GROUPS]:
        ranks = sorted(dist.get_process_group_ranks(group))
        if rank in ranks:
            held.setdefault(str(getattr(group, "group_desc", "")), (ranks.index(rank), len(ranks)))
    for name, descriptions in _DESCRIBED.items():
        index = next((held[one][0] for one in descriptions if one in held), None)
        if index is not None:
            yield name, index
    outer = next((held[one] for one in _REPLICATED if one in held), None)
    inner = next((held[one] for one in _SHARDED if one in held), None)
    if outer or inner:
        first, within = outer[0] if outer else 0, inner or (0, 1)
        yield "dp", first * within[1] + within[0]


def _call(state: object, function: str) -> int | None:
    asked = getattr(state, function, None)
    return _whole(asked) if callable(asked) else None


def _whole(asked: Callable[[], object]) -> int | None:
    """Return a number that a framework answers; None where it has none yet, and says so its way."""
    try:
        found = asked()
    except Exception:  # noqa: BLE001  not set up, or another version
        return None
    return int(found) if isinstance(found, int) and found >= 0 else None
