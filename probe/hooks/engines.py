"""DeepSpeed's engine: its updates are the steps, whatever optimizers it calls for them.

ZeRO calls the optimizer once a group of parameters (stages 1 and 2) or once a sub-group (stage 3),
on this rank's part of them, and not at all where a gradient overflowed; what reaches the backward
pass is divided by the accumulation and multiplied by the loss scale (0.19.8, run on CPUs). Replaces
`DeepSpeedEngine.backward`, which gets the loss as it is, and `_take_model_step`, the one place that
all updates pass: the engine has no hook on either.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any

from ..importing import when_imported
from ..patches import Function, UnsupportedLibraryError
from . import gradients, scaling
from .context import TAKES_OVER, HookContext, reference


def install(context: HookContext) -> None:
    """Follow the engine once the job has imported it."""
    if not isinstance(getattr(context.torch.optim, "Optimizer", None), type):
        raise UnsupportedLibraryError("torch.optim.Optimizer is not there")

    def follow(module: ModuleType) -> None:
        try:
            engine = module.DeepSpeedEngine
            context.patches.replace(engine, "backward", _given(context))
            if hasattr(engine, "scale"):  # newer ones: for `engine.scale(loss).backward()`
                context.patches.replace(engine, "scale", scaling.unscaled(context))
            context.patches.replace(engine, "_take_model_step", _EngineSteps(context).update)
        except (UnsupportedLibraryError, AttributeError) as error:
            context.missing.append(f"engines: {error}")

    context.undo.append(when_imported("deepspeed.runtime.engine", follow))


def _given(context: HookContext) -> Callable[[Function], Function]:
    def given(original: Function) -> Function:
        def backward(self: Any, loss: Any, *args: Any, **kwargs: Any) -> Any:
            if context.active and type(loss) is context.torch.Tensor:
                context.given_loss = loss
            try:
                return original(self, loss, *args, **kwargs)
            finally:
                context.given_loss = None

        return backward

    return given


class _EngineSteps:
    """The first engine's updates are the steps; should it stop, another's, as with optimizers."""

    def __init__(self, context: HookContext) -> None:
        self._context = context
        self._engine = reference(None)
        self._strangers = 0

    def update(self, original: Function) -> Function:
        """Return the engine's update as it is, and the end of a step after it."""
        timeline = self._context.timeline

        def _take_model_step(engine: Any, *args: Any, **kwargs: Any) -> Any:
            if self._context.inactive():
                return original(engine, *args, **kwargs)
            marked, timeline.explicit = timeline.explicit, True
            # Of a wrapper (ZeRO, 16 bits) the optimizer holds parts, already multiplied or divided.
            self._context.clipped = self._of_parts(engine)
            try:
                result = original(engine, *args, **kwargs)
            finally:
                timeline.explicit = marked
            try:
                self._ended(engine)
            except Exception:  # noqa: BLE001  the edge of the job
                self._context.failed()
            return result

        return _take_model_step

    def _of_parts(self, engine: Any) -> bool:
        kind = self._context.torch.optim.Optimizer
        return not isinstance(getattr(engine, "optimizer", None), kind)

    def _ended(self, engine: Any) -> None:
        context, known = self._context, self._engine()
        if known is not engine:
            self._strangers += 1
            if known is not None and self._strangers <= TAKES_OVER:
                context.timeline.work_begins()
                return
            self._engine = reference(engine)
        self._strangers = 0
        optimizer = engine.optimizer
        if getattr(optimizer, "overflow", False) is True:
            context.open.set("training.nonfinite", 1.0, of="grad_reduced")
        elif self._of_parts(engine):
            norm = engine.get_global_grad_norm()
            if norm is not None:
                gradients.keep_norm(context, context.torch.as_tensor(norm), scope="global")
        if engine.fp16_enabled():
            scale = getattr(optimizer, "loss_scale", getattr(optimizer, "cur_scale", None))
            if scale is not None:
                context.open.set("training.loss_scale", float(scale))
        if not context.timeline.explicit:
            context.steps.end_step(int(engine.global_steps) - 1)
