"""The time that `torch.save` takes, which is how most loops write their checkpoints.

Replaces `torch.save` where it is looked up: torch has no hook on it. `watch.checkpoint()` covers
more exactly what belongs to a checkpoint; a save inside it counts once.
"""

import threading
from typing import Any

from ..patches import Function
from ..timeline import TimelineSpan
from .context import HookContext


def install(context: HookContext) -> None:
    """Time every outermost save in the thread that trains."""
    inside = False

    def timed(original: Function) -> Function:
        def save(*args: Any, **kwargs: Any) -> Any:
            nonlocal inside
            timeline = context.timeline
            if inside or timeline.saving or context.inactive():
                return original(*args, **kwargs)
            if threading.get_ident() != timeline.thread:
                return original(*args, **kwargs)  # an asynchronous writer: nobody waits for it
            inside = True
            context.phases.save_begins()
            span = TimelineSpan(timeline.open)
            try:
                return original(*args, **kwargs)
            finally:
                inside = False
                step = context.open
                seconds = span.seconds(step)
                step.checkpoint += seconds
                step.counted += seconds
                context.phases.save_ends()
                timeline.batches.saved()

        return save

    context.patches.replace(context.torch, "save", timed)
