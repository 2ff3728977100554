"""Which rank, host or wish ended a job, by what launchers said and by what its logs show.

What came after the first end is nobody's wish, and who ended by a wish is no culprit. An end after
which torchrun started all processes of its node again was not the job's.
"""

from . import culprits, exits, host_ends, unnamed_ends, wishes
from .known import KnownRanks
from .places import LaunchPlaces
from .record import LaunchRecord
from .verdicts import LaunchVerdict


def settle(record: LaunchRecord, known: KnownRanks, newest: float) -> LaunchVerdict:
    """Return what launchers' reports mean; `newest`: when lines without any time were written."""
    restarted = record.restarted
    ends = [
        one for one in record.of_kind("exit", "oom", "raised", "verdict", "node")
        if one.place not in restarted
    ]  # fmt: skip
    places = LaunchPlaces(record, known, ends, newest)
    verdict = LaunchVerdict(places)
    wish = wishes.find(record, known, ends)
    if wish is not None:
        wishes.add(wish, known, verdict)
    ended = exits.gather(record, ends, known, verdict)
    if wish is not None:
        ended = {r: end for r, end in ended.items() if not wishes.explains(wish, end, places)}
    host_ends.add_failed_nodes(ends, verdict)
    host_ends.add_memory_kills(ends, ended, known, verdict, record.of_kind("stop"))
    culprits.add(ended, record, known, verdict, wished=wish is not None)
    if wish is None and not ended:
        unnamed_ends.add(record, ends, known, verdict, newest=newest)
    return verdict
