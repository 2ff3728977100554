"""The wait for the next batch, where the loop uses torch's own DataLoader.

Replaces `_BaseDataLoaderIter.__next__`: torch has no hook there, and it is the one place where
the training thread waits for data, whatever the loop looks like. A call from another thread (a
prefetcher) is no wait of the training thread and is left alone.
"""

import threading
from typing import Any

from ..patches import Function, UnsupportedLibraryError
from ..timeline import TimelineSpan
from .context import HookContext


def install(context: HookContext) -> None:
    """Time every `next` on a DataLoader's iterator."""
    loader = getattr(getattr(context.torch.utils, "data", None), "dataloader", None)
    iterator = getattr(loader, "_BaseDataLoaderIter", None)
    if iterator is None:
        raise UnsupportedLibraryError(
            "torch.utils.data.dataloader._BaseDataLoaderIter is not there"
        )
    timeline = context.timeline

    def timed(original: Function) -> Function:
        def __next__(self: Any) -> Any:  # noqa: N807  the name it replaces
            if context.inactive() or timeline.waiting or threading.get_ident() != timeline.thread:
                return original(self)
            if context.traced_update:
                _end_traced(context)
            timeline.waiting = True
            evaluating = _evaluating(context)
            span = TimelineSpan(timeline.open)
            try:
                return original(self)
            finally:
                timeline.waiting = False
                _waited(context, span, evaluating=evaluating)

        return __next__

    context.patches.replace(iterator, "__next__", timed)


def _end_traced(context: HookContext) -> None:
    try:
        context.end_traced()
    except Exception:  # noqa: BLE001  the edge of the job
        context.failed()


def _evaluating(context: HookContext) -> bool:
    """Return whether this batch is one of an evaluation."""
    try:
        phases = context.phases
        resting = not phases.announced and not getattr(context.model, "training", True)
        if resting or not context.torch.is_grad_enabled():
            phases.seems_evaluation()
        return resting or phases.current == "eval"
    except Exception:  # noqa: BLE001  the edge of the job
        context.failed()
        return False


def _waited(context: HookContext, span: TimelineSpan, *, evaluating: bool) -> None:
    try:
        context.timeline.waited_for_data(span, evaluating=evaluating)
        if context.device is not None:
            context.device.poll()
            context.device.mark("begin")
    except Exception:  # noqa: BLE001  the edge of the job
        context.failed()
