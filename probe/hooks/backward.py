"""The backward pass: where this rank's own work ends and the wait for its peers begins; the loss.

Replaces `torch.autograd.backward`, which Tensor.backward calls: torch has no hook on a whole
backward pass. Inside, a hook asks the autograd engine for a callback. The engine runs callbacks
once the local graph is done, in the order in which they were asked for; data-parallel wrappers
(DDP, FSDP) ask later for the one that waits for their reductions. So ours marks the end of the
local work, and what follows until backward returns is the wait.

For DDP the hook that asks is the one on a parameter (`gradients`); where a pass does not call it
(no gradient reaches it), the next ones hang theirs on the loss, which costs more. So do those of
everything else: FSDP asks for its callback in the first hook of a pass.
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
    tensor, compiling, clock = torch.Tensor, context.compiling, time.perf_counter
    finite = math.isfinite
    engine = getattr(torch.autograd.Variable, "_execution_engine", None)
    queue = getattr(engine, "queue_callback", None)
    asking = False
    local_end = 0.0

    def local_done() -> None:
        nonlocal local_end
        try:
            if context.device is not None:
                context.device.mark("local")
            local_end = clock()
        except Exception:  # noqa: BLE001  the edge of the job
            context.failed()

    def seen() -> None:
        nonlocal asking
        if asking and queue is not None:
            asking = False
            queue(local_done)

    def begun(_grad: Any) -> None:
        try:
            seen()
        except Exception:  # noqa: BLE001  the edge of the job
            context.failed()

    def prepare(tensors: Any) -> Any:
        nonlocal asking, local_end
        asking, local_end = False, 0.0
        context.in_backward = True
        timeline.batches.passes += 1
        phases.evaluation_signs = 0
        if context.traced_update:
            context.end_traced()
        if not timeline.begun:
            timeline.begin_first()
        loss: Any = tensors
        if type(loss) is not tensor:
            loss = next(iter(tensors), None) if isinstance(tensors, list | tuple) else None
            if type(loss) is not tensor:
                return None
        source, context.unscaled = context.unscaled, None
        if context.given_loss is not None:
            source, context.given_loss = context.given_loss, None
        value = loss if source is None else source
        if value.numel() == 1:
            if value.is_cpu:  # device.type == "cpu", four times as fast
                found = value.item()
                if type(found) is float:
                    step = timeline.open
                    step.loss_sum += found
                    step.loss_count += 1
                    if not finite(found):
                        context.alarm()
            else:
                _keep_on_device(context, value)
        if phases.current == "eval":
            phases.enter("train")
        if context.is_distributed or context.distributed():
            asking = True
            by_parameter = context.replicated and context.gradient_hooked
            if not by_parameter and loss.requires_grad:
                return loss.register_hook(begun)
        return None

    def finish(handle: Any) -> None:
        nonlocal asking
        now = clock()
        if handle is not None:
            handle.remove()
        if asking:  # nobody was called: the loss's is, from the next pass on
            asking = context.gradient_hooked = False
        elif local_end:
            step = timeline.open
            waited = now - local_end
            step.comm += waited
            step.counted += waited
            step.comm_known = True
            if context.device is not None:
                context.device.mark("reduced")
        timeline.work_ends(now)

    def timed(original: Function) -> Function:
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            # Re-entrant checkpointing calls backward inside backward: only the outermost counts.
            if context.in_backward or not context.active or compiling():
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
                    finish(handle)
                except Exception:  # noqa: BLE001  the edge of the job
                    context.failed()

        return backward

    context.gradient_seen = seen
    context.patches.replace(torch.autograd, "backward", timed)


def _keep_on_device(context: HookContext, loss: Any) -> None:
    """Keep the loss of this micro-batch, as it was before a GradScaler multiplied it."""
    reader = context.reader(loss)
    if reader is not None:
        reader.poll()
        reader.keep(BATCH_LOSS, loss)
