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
    one = _BackwardPass(context)
    context.gradient_seen = one.gradient_seen
    context.patches.replace(context.torch.autograd, "backward", one.timed)


class _BackwardPass:
    """The pass in progress. local_end: when its local work ended, 0 unknown; asking: not yet asked.

    Once a pass every attribute is a cold one, so what each needs is read once, at the start.
    """

    def __init__(self, context: HookContext) -> None:
        engine = getattr(context.torch.autograd.Variable, "_execution_engine", None)
        self._queue = getattr(engine, "queue_callback", None)
        self._context = context
        self._timeline = context.timeline
        self._tensor = context.torch.Tensor
        self._asking = False
        self._local_end = 0.0

    def timed(self, original: Function) -> Function:
        """Return torch's function with what is timed around it."""
        context, compiling, begin, end = (
            self._context,
            self._context.compiling,
            self._begin,
            self._end,
        )

        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            # Re-entrant checkpointing calls backward inside backward: only the outermost counts.
            if context.in_backward or not context.active or compiling():
                return original(tensors, *args, **kwargs)
            handle = None
            try:
                handle = begin(tensors)
            except Exception:  # noqa: BLE001  the edge of the job
                context.failed()
            try:
                return original(tensors, *args, **kwargs)
            finally:
                context.in_backward = False
                try:
                    end(handle)
                except Exception:  # noqa: BLE001  the edge of the job
                    context.failed()

        return backward

    def gradient_seen(self) -> None:
        """Ask, in the pass's first hook, for the callback that marks the end of the local work."""
        if self._asking and self._queue is not None:
            self._asking = False
            self._queue(self._local_done)

    def _local_done(self) -> None:
        try:
            if self._context.device is not None:
                self._context.device.mark("local")
            self._local_end = time.perf_counter()
        except Exception:  # noqa: BLE001  the edge of the job
            self._context.failed()

    def _loss_hook(self, _grad: Any) -> None:
        try:
            self.gradient_seen()
        except Exception:  # noqa: BLE001  the edge of the job
            self._context.failed()

    def _begin(self, tensors: Any) -> Any:
        """Begin a pass; return the handle of the hook that hangs on its loss, None for none."""
        context, timeline, phases = self._context, self._timeline, self._context.phases
        self._asking, self._local_end = False, 0.0
        context.in_backward = True
        timeline.batches.passes += 1
        phases.evaluation_signs = 0
        if context.traced_update:
            context.end_traced()
        if not timeline.begun:
            timeline.begin_first()
        loss: Any = tensors
        if type(loss) is not self._tensor:
            loss = next(iter(tensors), None) if isinstance(tensors, list | tuple) else None
            if type(loss) is not self._tensor:
                return None
        self._keep(loss)
        if phases.current == "eval":
            phases.enter("train")
        if context.is_distributed or context.distributed():
            self._asking = True
            by_parameter = context.replicated and context.gradient_hooked
            if not by_parameter and loss.requires_grad:
                return loss.register_hook(self._loss_hook)
        return None

    def _keep(self, loss: Any) -> None:
        """Keep the loss of this micro-batch, as it was before anything multiplied it."""
        context = self._context
        source, context.unscaled = context.unscaled, None
        if context.given_loss is not None:
            source, context.given_loss = context.given_loss, None
        value = loss if source is None else source
        if value.numel() != 1:
            return
        if value.is_cpu:  # device.type == "cpu", four times as fast
            found = value.item()
            if type(found) is float:
                step = self._timeline.open
                step.loss_sum += found
                step.loss_count += 1
                if not math.isfinite(found):
                    context.alarm()
        elif (reader := context.reader(value)) is not None:
            reader.poll()
            reader.keep(BATCH_LOSS, value)

    def _end(self, handle: Any) -> None:
        context, timeline = self._context, self._timeline
        now = time.perf_counter()
        if handle is not None:
            handle.remove()
        if self._asking:  # nobody was called: the loss's is, from the next pass on
            self._asking = context.gradient_hooked = False
        elif self._local_end:
            step = timeline.open
            waited = now - self._local_end
            step.comm += waited
            step.counted += waited
            step.comm_known = True
            if context.device is not None:
                context.device.mark("reduced")
        timeline.work_ends(now)
