"""What the kernel says of the host's clock: `struct timex` of <sys/timex.h>, as adjtimex fills it.

The caller makes the call: `libc.adjtimex(ctypes.byref(timex))`, which sets nothing
while `modes` is 0.
"""

import ctypes

NANOSECONDS = 0x2000  # STA_NANO: offset counts nanoseconds, else microseconds
UNSYNCHRONISED = 0x0040  # STA_UNSYNC


class KernelTimex(ctypes.Structure):
    """The struct as far as it is read here, and room for the rest."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("rest", ctypes.c_long * 32),
    )

    @property
    def synchronised(self) -> bool:
        """Return whether a time source disciplines the clock."""
        return not self.status & UNSYNCHRONISED

    @property
    def offset_seconds(self) -> float:
        """Return how far the clock was from its source when its daemon last set it."""
        return float(self.offset) / (1e9 if self.status & NANOSECONDS else 1e6)

    @property
    def error_seconds(self) -> float:
        """Return the kernel's estimate of the clock's error."""
        return float(self.esterror) / 1e6
