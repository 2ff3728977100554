"""Memory of the host in huge pages: small ones lie elsewhere in each process, and cost a third."""

import contextlib
import mmap
from collections.abc import Generator
from pathlib import Path

_PAGE = 4096


@contextlib.contextmanager
def buffer(count: int) -> Generator[memoryview, None, None]:
    """Give so many bytes that are mapped already, begin at a page, and go back at the end."""
    with mmap.mmap(-1, count, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as pages:
        with contextlib.suppress(OSError, AttributeError):
            pages.madvise(mmap.MADV_HUGEPAGE)
        with memoryview(pages) as given:
            given[::_PAGE] = b"\x01" * len(range(0, count, _PAGE))
            yield given


def in_huge_pages(count: int) -> bool:
    """Return whether this process has nearly so many bytes in huge pages."""
    try:
        lines = Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return False
    found = [line.split()[1] for line in lines if line.startswith("AnonHugePages:")]
    return bool(found) and int(found[0]) * 1024 >= 0.9 * count
