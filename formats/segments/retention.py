"""How long segments are kept: whole files go, oldest first, never the newest."""

from itertools import pairwise
from pathlib import Path

from .reading import first_at_ns, segments


def trim(folder: Path, *, max_bytes: int, max_age_seconds: float, now: float) -> list[Path]:
    """Delete segments beyond a size or an age and return them, oldest first.

    A segment is too old when the one after it begins before `now - max_age_seconds`, so that a
    record goes only when all of its file are too old. The newest, which may be open, stays.
    """
    present = segments(folder)
    sizes = {path: _size(path) for path in present}
    total = sum(sizes.values())
    oldest_ns = (now - max_age_seconds) * 1e9
    removed = []
    for path, following in pairwise(present):
        begins = _begins(following)
        too_old = begins is not None and begins < oldest_ns
        if total <= max_bytes and not too_old:
            break
        path.unlink(missing_ok=True)
        total -= sizes[path]
        removed.append(path)
    return removed


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # deleted by its reader meanwhile
        return 0


def _begins(path: Path) -> int | None:
    try:
        return first_at_ns(path)
    except FileNotFoundError:
        return None
