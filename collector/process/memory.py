"""Memory goes back to the machine once nobody needs it: large blocks at once, the rest in time.

glibc does so only until the first large block was freed: from then on it takes blocks of up to
32 MiB out of heaps, one for each of several threads, and keeps what is freed there. A few bodies of
some MiB so leave a collector with twice its memory for good.
"""

import ctypes

_MAPPED_BYTES = 1 << 20
"""Blocks of this size and more are mapped each by itself. The kernel then clears each page: about
what one copy costs, and less than whatever is done with a block so large."""
_HEAPS = 2
_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8  # malloc.h


def return_large_blocks() -> bool:
    """Ask the C library for it; call it before there are threads. False: it is not glibc."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return False
    return bool(mallopt(_M_MMAP_THRESHOLD, _MAPPED_BYTES) and mallopt(_M_ARENA_MAX, _HEAPS))


def return_freed() -> bool:
    """Give back what is free between blocks in use, as pieces of bodies leave it; False: as above.

    Takes up to a millisecond a MiB that goes back, while nobody else can take from that heap.
    """
    try:
        return bool(ctypes.CDLL(None).malloc_trim(0))
    except (AttributeError, OSError):
        return False
