"""Numbers out of whatever a loop hands over, without ever waiting for a device."""

import numbers
import sys
from typing import Any


class NotANumberError(TypeError):
    """What was handed over is no single number that could be read without waiting."""


def is_tensor(value: object) -> bool:
    """Return whether this is a tensor of the torch that the job imported."""
    torch = sys.modules.get("torch")
    kind = getattr(torch, "Tensor", None)
    return isinstance(kind, type) and isinstance(value, kind)


def number(value: object) -> float:
    """Return a plain number or a CPU tensor of one element as a float.

    Raises NotANumberError for everything else: text, several elements, values of other
    frameworks, whose conversion might wait for a device.
    """
    if type(value) is float:  # first because it is usual: the general question takes longer
        return value
    if isinstance(value, numbers.Real):
        return float(value)
    if is_tensor(value):
        tensor: Any = value
        if tensor.device.type == "cpu" and tensor.numel() == 1:
            return float(tensor.detach().item())
    elif type(value).__module__ == "numpy" and getattr(value, "size", 0) == 1:
        array: Any = value
        return float(array.item())
    raise NotANumberError(f"{type(value).__name__} is not a number")
