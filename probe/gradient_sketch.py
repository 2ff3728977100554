"""A few sums over the gradient of one parameter: as each backward pass has it, and as it is used.

Sums are linear: those of the gradient that an update is made with are those of its micro-batches,
added up over passes and ranks and multiplied by one number, whatever averages, scales or clips.
Where they are the last pass's alone, the others were lost. Of gradients in host memory.
"""

from typing import Any

SUMS = 8


class GradientSketch:
    """Of one step: the sums of each pass, added up, and those of the newest pass."""

    __slots__ = ("newest", "passes", "total")

    def __init__(self) -> None:
        self.passes = 0
        self.total: Any = None
        self.newest: Any = None

    def add(self, torch: Any, gradient: Any) -> None:
        """Take the gradient of one backward pass, before it is reduced or accumulated."""
        found = sums(torch, gradient)
        if found is not None:
            self.passes += 1
            self.newest = found
            self.total = found if self.total is None else self.total + found


def sums(torch: Any, gradient: Any) -> Any:
    """Return sums over equal parts of a gradient; None of one that is on a device or sharded.

    A part takes every eighth element: behind a norm the gradients of a whole row add up to nothing.
    """
    if type(gradient) is not torch.Tensor or gradient.device.type != "cpu":
        return None
    with torch.no_grad():
        flat = gradient.reshape(-1)
        parts = min(SUMS, flat.numel())
        if not parts:
            return None
        return flat[: flat.numel() // parts * parts].view(-1, parts).sum(0, dtype=torch.float64)


def text(found: Any) -> str:
    """Return sums as numbers between blanks."""
    return " ".join(f"{one:.6g}" for one in found.tolist())
