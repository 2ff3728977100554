"""When something that still goes on began: the one onset search of every detector."""

import numpy as np

from .window import Flags

ENDS_AFTER = 3
"""So many normal values in a row are the end of a run; fewer are luck."""


def newest_run(odd: Flags, *, ends_after: int = ENDS_AFTER) -> int:
    """Return the first place of the newest run of odd values; the last place where none is odd.

    odd: [places], ascending in time. `ends_after` normal values in a row separate two runs, so the
    start of a run stays where it is for as long as the run goes on.
    """
    places = np.flatnonzero(odd)
    if not len(places):
        return max(len(odd) - 1, 0)
    if len(odd) - 1 - int(places[-1]) >= ends_after:
        return len(odd) - 1
    gaps = np.flatnonzero(np.diff(places) > ends_after)
    return int(places[gaps[-1] + 1]) if len(gaps) else int(places[0])
