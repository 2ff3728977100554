"""Parameters sharded by `fully_shard`, on a device: the wait for them is no work of this rank.

Before a layer runs, forward and backward, the stream of the computation waits until its parameters
have been gathered, which is until the slowest rank has come so far. Replaces
`FSDPParamGroup.wait_for_unshard`, which enqueues that wait and the copy after it: torch has no
hook there, and it is private; without it this hook is left out. On a CPU the gather itself waits,
and is timed as a collective (`calls`).
"""

from types import ModuleType
from typing import Any

from ..importing import when_imported
from ..patches import Function, UnsupportedLibraryError
from .context import HookContext

_MODULE = "torch.distributed.fsdp._fully_shard._fsdp_param_group"


def install(context: HookContext) -> None:
    """Mark where the wait for gathered parameters begins and ends, once the job imports FSDP."""
    if not isinstance(getattr(context.torch, "distributed", None), ModuleType):
        raise UnsupportedLibraryError("torch.distributed is not there")

    def imported(module: ModuleType) -> None:
        try:
            context.patches.replace(
                getattr(module, "FSDPParamGroup", None),
                "wait_for_unshard",
                lambda original: _marked(context, original),
            )
        except UnsupportedLibraryError as error:
            context.missing.append(f"shards: {error}")

    context.undo.append(when_imported(_MODULE, imported))


def _marked(context: HookContext, original: Function) -> Function:
    def mark(name: str) -> None:
        try:
            if context.device is not None:
                context.device.mark(name)
        except Exception:  # noqa: BLE001  the edge of the job
            context.failed()

    def wait_for_unshard(group: Any) -> Any:
        # Without a result nothing was gathered: the parameters are here already.
        if context.inactive() or not getattr(group, "_all_gather_result", None):
            return original(group)
        mark("local")
        try:
            return original(group)
        finally:
            mark("reduced")

    return wait_for_unshard
