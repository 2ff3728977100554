"""The wait for the next batch, and what it holds, where the loop uses torch's own DataLoader.

Replaces `_BaseDataLoaderIter.__next__`: torch has no hook there, and it is the one place where
the training thread waits for data, whatever the loop looks like. A call from another thread (a
prefetcher) is no wait of the training thread and is left alone. Wraps `_next_index` and `_reset`
too: the indices that the sampler draws are the ids of the samples, and are drawn in the order in
which batches are delivered, however many workers load them.
"""

import threading
import weakref
from collections import deque
from typing import Any

from ..patches import Function, UnsupportedLibraryError
from ..timeline import TimelineSpan
from .context import HookContext

_DRAWN = 4096
"""Batches ahead whose indices are kept: more than workers prefetch."""


def install(context: HookContext) -> None:
    """Time every `next` on a DataLoader's iterator."""
    loader = getattr(getattr(context.torch.utils, "data", None), "dataloader", None)
    iterator = getattr(loader, "_BaseDataLoaderIter", None)
    if iterator is None:
        raise UnsupportedLibraryError(
            "torch.utils.data.dataloader._BaseDataLoaderIter is not there"
        )
    timeline = context.timeline
    drawn = DrawnIndices(context)

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
                batch = original(self)
            finally:
                timeline.waiting = False
                _waited(context, span, evaluating=evaluating)
            ids, epoch = drawn.next(self)
            if not evaluating:
                timeline.batches.take(batch, ids, epoch)
            return batch

        return __next__

    context.patches.replace(iterator, "__next__", timed)
    if timeline.batches.on:
        drawn.install(iterator)


def _end_traced(context: HookContext) -> None:
    try:
        context.end_traced()
    except Exception:  # noqa: BLE001  the edge of the job
        context.failed()


def _evaluating(context: HookContext) -> bool:
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


class DrawnIndices:
    """The indices that each iterator's sampler has drawn, for batches that are yet to come."""

    def __init__(self, context: HookContext) -> None:
        self._context = context
        self._drawn: weakref.WeakKeyDictionary[Any, tuple[int, deque[Any]]] = (
            weakref.WeakKeyDictionary()
        )

    def install(self, iterator: Any) -> None:
        """Keep what is drawn; without the two methods batches have no ids of the sampler."""
        for name, make in (("_next_index", self._kept), ("_reset", self._cleared)):
            try:
                self._context.patches.replace(iterator, name, make)
            except UnsupportedLibraryError as error:
                self._context.missing.append(f"batches: {error}")

    def next(self, iterator: Any) -> tuple[list[Any] | None, int]:
        """Return the indices of the batch just delivered, None without any, and its epoch."""
        held = self._drawn.get(iterator)
        if held is None:
            return None, 0
        epoch, drawn = held
        if not drawn or not getattr(iterator, "_in_order", True):
            return None, epoch
        found = drawn.popleft()
        found = found if isinstance(found, list | tuple) else [found]
        known = [one for one in found if one is not None]
        return known or None, epoch

    def _kept(self, original: Function) -> Function:
        def _next_index(iterator: Any) -> Any:
            drawn = original(iterator)
            if self._context.active:
                try:
                    held = self._drawn.get(iterator)
                    if held is None:
                        batches = self._context.timeline.batches
                        held = self._drawn[iterator] = (batches.begun(), deque(maxlen=_DRAWN))
                        training = self._context.phases.current != "eval"
                        if training and self._context.torch.is_grad_enabled():
                            batches.seen(getattr(iterator, "_dataset", None))
                    held[1].append(drawn)
                except Exception:  # noqa: BLE001  the edge of the job
                    self._context.failed()
            return drawn

        return _next_index

    def _cleared(self, original: Function) -> Function:
        def _reset(iterator: Any, *args: Any, **kwargs: Any) -> Any:
            self._drawn.pop(iterator, None)
            return original(iterator, *args, **kwargs)

        return _reset
