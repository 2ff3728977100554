"""The clock by the kernel's own word: whether it is synchronised, and how far off it may be."""

import ctypes

from ...formats.kernel_clock import KernelTimex
from .rows import CheckOrder, MeasuredRow


def kernel_clock(_order: CheckOrder) -> list[MeasuredRow]:
    """Return the kernel's estimate of the clock's error; missing where nobody synchronises it."""
    try:
        library = ctypes.CDLL(None, use_errno=True)
        found = KernelTimex()  # modes 0: it is read and nothing is set
        state = int(library.adjtimex(ctypes.byref(found)))
    except (OSError, AttributeError) as error:
        return [MeasuredRow("clock", missing=f"the kernel does not say: {error}")]
    if state < 0:
        return [MeasuredRow("clock", missing="the kernel does not let this process ask")]
    if not found.synchronised:
        why = "the kernel says that nobody synchronises the clock; --peer HOST compares it with one"
        return [MeasuredRow("clock", missing=why)]
    return [MeasuredRow("clock", (found.error_seconds,))]
