"""DistributedDataParallel: when a forward pass begins, and the wait for buffers at its start.

Replaces `DistributedDataParallel._pre_forward` and `_sync_buffers`: a module hook would be
pickled with the model. Where forward begins, preprocessing in the loop ends; the broadcast of
buffers (batch norm) is a wait for rank 0 that would otherwise count as this rank's own work. Both
are private; without them this hook is left out.
"""

from typing import Any

from ..patches import Function, UnsupportedLibraryError
from ..timeline import TimelineSpan
from .context import HookContext, reference


def install(context: HookContext) -> None:
    """See replicas run forward, and time their buffer broadcasts."""
    parallel = getattr(getattr(context.torch.nn, "parallel", None), "DistributedDataParallel", None)
    if parallel is None:
        raise UnsupportedLibraryError("torch.nn.parallel.DistributedDataParallel is not there")

    compiling, timeline = context.compiling, context.timeline
    grads = context.torch.is_grad_enabled

    def seen(original: Function) -> Function:
        def _pre_forward(self: Any, *args: Any, **kwargs: Any) -> Any:
            if context.active and not compiling():
                try:
                    if not context.replicated:
                        context.replicated = True
                        context.replica = reference(self)
                        if context.model is None:
                            context.model = self
                    if not grads():
                        context.phases.seems_evaluation()
                    elif (
                        self.training
                        and timeline.work_begins(forward=True)
                        and context.device is not None
                    ):
                        context.device.mark("begin")
                except Exception:  # noqa: BLE001  the edge of the job
                    context.failed()
            return original(self, *args, **kwargs)

        return _pre_forward

    def timed(original: Function) -> Function:
        def _sync_buffers(self: Any, *args: Any, **kwargs: Any) -> Any:
            if context.inactive() or context.device is not None:
                return original(self, *args, **kwargs)
            span = TimelineSpan(context.open)
            try:
                return original(self, *args, **kwargs)
            finally:
                step = context.open
                waited = span.seconds(step)
                step.comm += waited
                step.counted += waited

        return _sync_buffers

    context.patches.replace(parallel, "_pre_forward", seen)
    context.patches.replace(parallel, "_sync_buffers", timed)
