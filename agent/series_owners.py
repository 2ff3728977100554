"""Whose a reading's series is: found once by its attributes, then again by their identity.

Readers keep the attributes of a series from one reading to the next, and a device has two hundred
of them: to look through the pairs of each, every time, cost more than to read them.
"""

from dataclasses import dataclass

from ..vocabulary.samples import Attributes, Sample, attributes, claimed

_MOST = 4096


@dataclass(slots=True)
class SeriesOwner:
    """What the attributes of a series say of its owner.

    `pairs` are held: as long as they are, nothing else has their identity.
    """

    pairs: Attributes
    pid: int | None
    of_rank: bool
    """It is about a rank's process, not about the node."""
    hw_id: str | None
    rank: int | None = None
    ranked: Attributes = ()
    """The pairs with `rank` among them."""
    claimed: Attributes = ()
    """The pairs with CLAIMED among them."""

    def with_rank(self, sample: Sample, rank: int) -> Sample:
        if self.rank != rank:
            self.rank = rank
            self.ranked = attributes({**dict(self.pairs), "rank": rank})
        return Sample(sample.metric, sample.value, sample.at, self.ranked)

    def as_claimed(self, sample: Sample) -> Sample:
        """Return a sample of this series as of a process whose job and rank nobody checked."""
        if not self.claimed:
            self.claimed = claimed(self.pairs)
        return Sample(sample.metric, sample.value, sample.at, self.claimed)


class SeriesOwners:
    """The series of this node; for one thread."""

    def __init__(self) -> None:
        self._known: dict[int, SeriesOwner] = {}

    def of(self, pairs: Attributes) -> SeriesOwner:
        return self._known.get(id(pairs)) or self._look(pairs)

    def _look(self, pairs: Attributes) -> SeriesOwner:
        if len(self._known) >= _MOST:
            self._known.clear()  # of devices and processes that may be gone
        named = dict(pairs)
        pid, hw_id = named.get("pid"), named.get("hw.id")
        found = self._known[id(pairs)] = SeriesOwner(
            pairs,
            pid=pid if isinstance(pid, int) else None,
            of_rank="pid" in named and "rank" in named,
            hw_id=hw_id if isinstance(hw_id, str) else None,
        )
        return found
