"""The gradient norm that the loop computes anyway, to clip by it.

Replaces `torch.nn.utils.clip_grad_norm_` where it is looked up: its result is the norm before
clipping, at every step and at no cost, which no hook of torch provides. So is what loops give to
`clip_grads_with_norm_` that reduce norms themselves. Where the norm of sharded gradients is a
distributed tensor of which this rank has its shard's alone, it is kept when the loop asks for the
whole of it (`DTensor.full_tensor`), as it has to in order to log it.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any

from ..importing import when_imported
from ..patches import Function, UnsupportedLibraryError
from . import gradients
from .context import HookContext, reference

_SHARDED = "torch.distributed.tensor._api"


def install(context: HookContext) -> None:
    """Keep what clip_grad_norm_ returns, or what clip_grads_with_norm_ is given."""

    def kept(original: Function) -> Function:
        def clip_grad_norm_(*args: Any, **kwargs: Any) -> Any:
            norm = original(*args, **kwargs)
            if not context.inactive():
                try:
                    _keep(context, norm)
                except Exception:  # noqa: BLE001  the edge of the job
                    context.failed()
            return norm

        return clip_grad_norm_

    def given(original: Function) -> Function:
        def clip_grads_with_norm_(
            parameters: Any, max_norm: Any, total_norm: Any, *args: Any, **kwargs: Any
        ) -> Any:
            if not context.inactive():
                try:
                    _keep(context, total_norm)
                except Exception:  # noqa: BLE001  the edge of the job
                    context.failed()
            return original(parameters, max_norm, total_norm, *args, **kwargs)

        return clip_grads_with_norm_

    utils = context.torch.nn.utils
    context.patches.replace(utils, "clip_grad_norm_", kept)
    if hasattr(utils, "clip_grads_with_norm_"):  # since torch 2.6
        context.patches.replace(utils, "clip_grads_with_norm_", given)
    context.undo.append(when_imported(_SHARDED, _follow(context)))


def _keep(context: HookContext, norm: Any) -> None:
    gradients.keep_norm(context, norm)
    whole = type(norm) is context.torch.Tensor or gradients.held_whole(norm) is not None
    context.sharded_norm = reference(None if whole else norm)
    context.clipped = True


def _follow(context: HookContext) -> Callable[[ModuleType], None]:
    def gathered(original: Function) -> Function:
        def full_tensor(self: Any, *args: Any, **kwargs: Any) -> Any:
            whole = original(self, *args, **kwargs)
            if context.active and context.sharded_norm() is self:
                try:
                    gradients.keep_norm(context, whole, scope="global")
                except Exception:  # noqa: BLE001  the edge of the job
                    context.failed()
            return whole

        return full_tensor

    def imported(module: ModuleType) -> None:
        try:
            context.patches.replace(getattr(module, "DTensor", None), "full_tensor", gathered)
        except UnsupportedLibraryError as error:
            context.missing.append(f"clipping: {error}")

    return imported
