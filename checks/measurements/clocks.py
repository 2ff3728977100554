"""The clock by the kernel's own word: whether it is synchronised, and how far off it may be."""

import ctypes

from .rows import CheckOrder, MeasuredRow

_UNSYNCHRONISED = 0x40
_MICROSECONDS = 1e-6


class _KernelTimex(ctypes.Structure):
    """struct timex as the kernel fills it in; what follows the estimates is not read."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("rest", ctypes.c_char * 256),
    )


def kernel_clock(_order: CheckOrder) -> list[MeasuredRow]:
    """Return the kernel's estimate of the clock's error; missing where nobody synchronises it."""
    try:
        library = ctypes.CDLL(None, use_errno=True)
        found = _KernelTimex()  # modes 0: it is read and nothing is set
        state = int(library.adjtimex(ctypes.byref(found)))
    except (OSError, AttributeError) as error:
        return [MeasuredRow("clock", missing=f"the kernel does not say: {error}")]
    if state < 0:
        return [MeasuredRow("clock", missing="the kernel does not let this process ask")]
    if found.status & _UNSYNCHRONISED:
        why = "the kernel says that nobody synchronises the clock; --peer HOST compares it with one"
        return [MeasuredRow("clock", missing=why)]
    return [MeasuredRow("clock", (found.esterror * _MICROSECONDS,))]
