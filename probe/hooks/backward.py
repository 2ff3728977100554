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
from .seat import Seat


def install(seat: Seat) -> None:
    """Time every outermost backward pass, and keep its loss."""
    torch, timeline, phases = seat.torch, seat.timeline, seat.phases
    engine = getattr(torch.autograd.Variable, "_execution_engine", None)
    queue = getattr(engine, "queue_callback", None)
    local_end = 0.0

    def local_done() -> None:
        nonlocal local_end
        try:
            if seat.device is not None:
                seat.device.mark("local")
            local_end = time.perf_counter()
        except Exception:  # noqa: BLE001  the edge of the job
            seat.failed()

    def begun(_grad: Any) -> None:
        try:
            if queue is not None:
                queue(local_done)
        except Exception:  # noqa: BLE001  the edge of the job
            seat.failed()

    def prepare(tensors: Any) -> Any:
        nonlocal local_end
        local_end = 0.0
        seat.in_backward = True
        if not timeline.begun:
            timeline.begin_first()
        loss: Any = tensors
        if isinstance(tensors, list | tuple):
            loss = next(iter(tensors), None)
        if type(loss) is not torch.Tensor:
            return None
        _keep_loss(seat, loss)
        if phases.current == "eval":
            phases.enter("train")
        if seat.distributed() and loss.requires_grad:
            return loss.register_hook(begun)
        return None

    def finish(handle: Any) -> None:
        handle.remove()
        if local_end:
            step = timeline.open
            step.comm += time.perf_counter() - local_end
            step.comm_known = True
            if seat.device is not None:
                seat.device.mark("reduced")

    def timed(original: Function) -> Function:
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            # Re-entrant checkpointing calls backward inside backward: only the outermost counts.
            if seat.in_backward or seat.away():
                return original(tensors, *args, **kwargs)
            handle = None
            try:
                handle = prepare(tensors)
            except Exception:  # noqa: BLE001  the edge of the job
                seat.failed()
            try:
                return original(tensors, *args, **kwargs)
            finally:
                seat.in_backward = False
                timeline.open.own_known = True
                if handle is not None:
                    try:
                        finish(handle)
                    except Exception:  # noqa: BLE001  the edge of the job
                        seat.failed()

        return backward

    seat.patches.replace(torch.autograd, "backward", timed)


def _keep_loss(seat: Seat, loss: Any) -> None:
    """Keep the loss of this micro-batch, as it was before a GradScaler multiplied it."""
    source, seat.unscaled = seat.unscaled, None
    value = loss if source is None else source
    if value.numel() != 1:
        return
    if value.is_cpu:  # device.type == "cpu", four times as fast
        found = value.item()
        if isinstance(found, float):
            step = seat.timeline.open
            step.loss_sum += found
            step.loss_count += 1
            if not math.isfinite(found):
                seat.alarm()
    elif (reader := seat.reader(value)) is not None:
        reader.poll()
        reader.keep(BATCH_LOSS, value)
