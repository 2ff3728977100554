"""Collectives, sends and receives through torch.distributed, on CPU tensors.

Called by the loop, or by what wraps its model: `fully_shard` gathers parameters inside a forward
pass. Replaces the module's functions where they are looked up: torch has no hook on them, and a
rank that waits in one must not be taken for a rank that works. On a device such a call returns at
once and the wait happens in a stream, so calls on device tensors are passed through untimed.
"""

import threading
from typing import Any

from ..patches import Function, UnsupportedLibraryError
from ..timeline import TimelineSpan
from .context import HookContext

_NAMES = (
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_gather_single",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "broadcast_object_list",
    "gather",
    "gather_object",
    "monitored_barrier",
    "recv",
    "recv_object_list",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
    "scatter",
    "scatter_object_list",
    "send",
    "send_object_list",
)


def install(context: HookContext) -> None:
    """Time each synchronous call; one inside another counts once."""
    dist = getattr(context.torch, "distributed", None)
    names = [name for name in _NAMES if callable(getattr(dist, name, None))]
    if not names:
        raise UnsupportedLibraryError("torch.distributed has no collectives")
    inside = False

    def timed(original: Function) -> Function:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal inside
            if context.inactive() or inside or kwargs.get("async_op"):
                return original(*args, **kwargs)
            if threading.get_ident() != context.timeline.thread:
                return original(*args, **kwargs)
            if any(_on_device(each) for each in (*args, *kwargs.values())):
                return original(*args, **kwargs)
            inside = True
            span = TimelineSpan(context.open)
            try:
                return original(*args, **kwargs)
            finally:
                inside = False
                context.timeline.waited_for_peers(span)

        return call

    for name in names:
        context.patches.replace(dist, name, timed)


def _on_device(given: Any) -> bool:
    first = given[0] if isinstance(given, list) and given else given
    return getattr(getattr(first, "device", None), "type", "cpu") != "cpu"
