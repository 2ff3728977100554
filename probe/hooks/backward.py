"""The backward pass: where this rank's own work ends and the wait for its peers begins; the loss.

Replaces `torch.autograd.backward`, which Tensor.backward calls: torch has no hook on a whole
backward pass. Inside, a hook on the loss asks the autograd engine for a callback. The engine runs
callbacks once the local graph is done, in the order in which they were asked for; data-parallel
wrappers (DDP, FSDP) ask later for the one that waits for their reductions. So ours marks the end
of the local work, and what follows until backward returns is the wait.
"""

import math
import time
from typing import Any

from ..devices import BATCH_LOSS
from ..patches import Function
from .context import HookContext


def install(context: HookContext) -> None:
    """Time every outermost backward pass, and keep its loss."""
    torch, timeline, phases = context.torch, context.timeline, context.phases
    engine = getattr(torch.autograd.Variable, "_execution_engine", None)
    queue = getattr(engine, "queue_callback", None)
    local_end = 0.0

    def local_done() -> None:
        nonlocal local_end
        try:
            if context.device is not None:
                context.device.mark("local")
            local_end = time.perf_counter()
        except Exception:  # noqa: BLE001  the edge of the job
            context.failed()

    def begun(_grad: Any) -> None:
        try:
            if queue is not None:
                queue(local_done)
        except Exception:  # noqa: BLE001  the edge of the job
            context.failed()

    def prepare(tensors: Any) -> Any:
        nonlocal local_end
        local_end = 0.0
        context.in_backward = True
        phases.evaluation_signs = 0
        if not timeline.begun:
            timeline.begin_first()
        loss: Any = tensors
        if isinstance(tensors, list | tuple):
            loss = next(iter(tensors), None)
        if type(loss) is not torch.Tensor:
            return None
        _keep_loss(context, loss)
        if phases.current == "eval":
            phases.enter("train")
        if context.distributed() and loss.requires_grad:
            return loss.register_hook(begun)
        return None

    def finish(handle: Any) -> None:
        handle.remove()
        if local_end:
            step = timeline.open
            step.comm += time.perf_counter() - local_end
            step.comm_known = True
            if context.device is not None:
                context.device.mark("reduced")

    def timed(original: Function) -> Function:
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            # Re-entrant checkpointing calls backward inside backward: only the outermost counts.
            if context.in_backward or context.inactive():
                return original(tensors, *args, **kwargs)
            handle = None
            try:
                handle = prepare(tensors)
            except Exception:  # noqa: BLE001  the edge of the job
                context.failed()
            try:
                return original(tensors, *args, **kwargs)
            finally:
                context.in_backward = False
                try:
                    if handle is not None:
                        finish(handle)
                    timeline.work_ends()
                except Exception:  # noqa: BLE001  the edge of the job
                    context.failed()

        return backward

    context.patches.replace(torch.autograd, "backward", timed)


def _keep_loss(context: HookContext, loss: Any) -> None:
    """Keep the loss of this micro-batch, as it was before a GradScaler multiplied it."""
    source, context.unscaled = context.unscaled, None
    value = loss if source is None else source
    if value.numel() != 1:
        return
    if value.is_cpu:  # device.type == "cpu", four times as fast
        found = value.item()
        if isinstance(found, float):
            step = context.timeline.open
            step.loss_sum += found
            step.loss_count += 1
            if not math.isfinite(found):
                context.alarm()
    elif (reader := context.reader(value)) is not None:
        reader.poll()
        reader.keep(BATCH_LOSS, value)
