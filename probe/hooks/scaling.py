"""Mixed precision: the loss before it was scaled, the scale, and updates that were skipped.

Replaces `GradScaler.scale` (the scaled loss is what backward sees, and dividing it again would
need the scale on the host) and `GradScaler.step` (a skipped update calls no optimizer, so no
optimizer hook marks the end of the step).
"""

from collections.abc import Callable
from typing import Any

from ..patches import Function, UnsupportedLibraryError
from .context import HookContext, reference


def install(context: HookContext) -> None:
    """See losses before scaling, and steps that the scaler skips."""
    scaler = getattr(getattr(context.torch, "amp", None), "GradScaler", None)
    if scaler is None:
        raise UnsupportedLibraryError("torch.amp.GradScaler is not there")

    def skipped(original: Function) -> Function:
        def step(self: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            if context.inactive():
                return original(self, optimizer, *args, **kwargs)
            context.updated = context.traced_update = False
            context.scaler = reference(self)
            result = original(self, optimizer, *args, **kwargs)
            try:
                unseen = not context.updated and not context.traced_update
                if unseen and context.is_step_optimizer(optimizer):
                    # At least one gradient was not finite; the scaler does not count them.
                    context.open.set("training.nonfinite", 1.0, of="grad_reduced")
                    context.update_ended()
            except Exception:  # noqa: BLE001  the edge of the job
                context.failed()
            return result

        return step

    context.patches.replace(scaler, "scale", unscaled(context))
    context.patches.replace(scaler, "step", skipped)


def unscaled(context: HookContext) -> Callable[[Function], Function]:
    """Return what keeps the loss that a method `scale` is given, for the backward pass to come."""

    def kept(original: Function) -> Function:
        def scale(self: Any, outputs: Any, *args: Any, **kwargs: Any) -> Any:
            if not context.inactive() and type(outputs) is context.torch.Tensor:
                context.unscaled = outputs
            return original(self, outputs, *args, **kwargs)

        return scale

    return kept


def note_scale(context: HookContext, scaler: Any) -> None:
    """Keep the loss scale of the step that is about to end; a scaler that is gone has none."""
    scale = getattr(scaler, "_scale", None)
    if scale is None:
        return
    if scale.device.type == "cpu":
        context.open.set("training.loss_scale", float(scale.item()))
    elif (reader := context.reader(scale)) is not None:
        reader.keep("training.loss_scale", scale)
