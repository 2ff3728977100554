"""Evaluation that the loop does not announce: work with gradients switched off, no backward pass.

Once may be anything (a metric, a batch fetched under no_grad in a training loop), so the second
sign in a row, without a backward pass in between, begins phase `eval`. A backward pass ends it.
Costs one call of torch.is_grad_enabled per batch and per forward of a replica.
"""

from .context import HookContext

_SIGNS = 2


def seen(context: HookContext) -> None:
    """Note a batch fetched, or a forward pass begun, with gradients switched off."""
    context.evaluating += 1
    if context.evaluating >= _SIGNS and context.phases.current == "train":
        context.phases.enter("eval")
