"""Mixed precision: the loss before it was scaled, the scale, and updates that were skipped.

Replaces `GradScaler.scale` (the scaled loss is what backward sees, and dividing it again would
need the scale on the host) and `GradScaler.step` (a skipped update calls no optimizer, so no
optimizer hook tells that a step ended).
"""

from typing import Any

from ..patches import BowOutError, Function
from .seat import Seat, reference


def install(seat: Seat) -> None:
    """See losses before scaling, and steps that the scaler skips."""
    scaler = getattr(getattr(seat.torch, "amp", None), "GradScaler", None)
    if scaler is None:
        raise BowOutError("torch.amp.GradScaler is not there")

    def unscaled(original: Function) -> Function:
        def scale(self: Any, outputs: Any, *args: Any, **kwargs: Any) -> Any:
            if not seat.away() and type(outputs) is seat.torch.Tensor:
                seat.unscaled = outputs
            return original(self, outputs, *args, **kwargs)

        return scale

    def skipped(original: Function) -> Function:
        def step(self: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            if seat.away():
                return original(self, optimizer, *args, **kwargs)
            seat.updated = False
            seat.scaler = reference(self)
            result = original(self, optimizer, *args, **kwargs)
            try:
                if not seat.updated and seat.is_ruler(optimizer):
                    # At least one gradient was not finite; the scaler knows no number.
                    seat.open.say("training.nonfinite", 1.0, of="grad_reduced")
                    seat.update_ended()
            except Exception:  # noqa: BLE001  the edge of the job
                seat.failed()
            return result

        return step

    seat.patches.replace(scaler, "scale", unscaled)
    seat.patches.replace(scaler, "step", skipped)


def note_scale(seat: Seat, scaler: Any) -> None:
    """Keep the loss scale of the step that is about to end; a scaler that is gone has none."""
    scale = getattr(scaler, "_scale", None)
    if scale is None:
        return
    if scale.device.type == "cpu":
        seat.open.say("training.loss_scale", float(scale.item()))
    elif (reader := seat.reader(scale)) is not None:
        reader.keep("training.loss_scale", scale)
