"""Where the ranks of an attempt run, as columns over the rows of its matrices."""

from array import array

import numpy as np
from numpy.typing import NDArray

from ...detectors.window import Ints
from ...formats.otlp.numbering import KeyNumbers
from ...vocabulary.topology import UNKNOWN, RankPlacement

CHECKED, ONLY_CLAIMED = 1, 0

_FEW, _SPREAD = 1024, 8
"""Rows are looked up by rank in an array up to this rank, or so many times the ranks there are."""

_COLUMNS = ("hosts", "local_ranks", "pids", "dp", "tp", "pp", "ep", "started", "checked")


class PlacementColumns:
    """Columns [rows], UNKNOWN where nobody reports it; `hosts` are numbers of Hosts.

    started: when the rank's process started, seconds since the epoch. checked: CHECKED where a
    process that was shown to be the rank reports it, ONLY_CLAIMED where one that was not does.
    `version` moves with every change.
    """

    def __init__(self) -> None:
        self.ranks: list[int] = []
        self.hw_ids: list[str | None] = []
        self.hosts: Ints = np.zeros(0, np.int64)
        self.local_ranks: Ints = np.zeros(0, np.int64)
        self.pids: Ints = np.zeros(0, np.int64)
        self.dp: Ints = np.zeros(0, np.int64)
        self.tp: Ints = np.zeros(0, np.int64)
        self.pp: Ints = np.zeros(0, np.int64)
        self.ep: Ints = np.zeros(0, np.int64)
        self.started: Ints = np.zeros(0, np.int64)
        self.checked: Ints = np.zeros(0, np.int64)
        self.version = 0
        self._near: NDArray[np.int32] = np.full(64, UNKNOWN, np.int32)
        """Rows by rank; those of higher ranks are in `_far`, which takes no room for others."""
        self._far = KeyNumbers(16)

    def __len__(self) -> int:
        return len(self.ranks)

    def rows(self, ranks: Ints) -> Ints:
        """Return the rows of ranks, adding those that are new in their order."""
        found = self.known_rows(ranks)
        new = ranks[found < 0]
        if len(new):
            new = new[np.sort(np.unique(new, return_index=True)[1])]
            first = len(self.ranks)
            self.ranks.extend(new.tolist())
            self._number(new, first)
            self.hw_ids.extend([None] * len(new))
            if len(self.ranks) > len(self.hosts):
                size = max(64, 2 * len(self.ranks))
                for name in _COLUMNS:
                    old = getattr(self, name)
                    longer = np.full(size, UNKNOWN, np.int64)
                    longer[: len(old)] = old
                    setattr(self, name, longer)
            self.version += 1
            found = self.known_rows(ranks)
        return found

    def known_rows(self, ranks: Ints) -> Ints:
        """Return the rows of ranks, UNKNOWN where they have none; adds nobody."""
        near = (ranks >= 0) & (ranks < len(self._near))
        if near.all():
            rows: Ints = self._near[ranks].astype(np.int64)
            return rows
        found: Ints = np.full(len(ranks), UNKNOWN, np.int64)
        found[near] = self._near[ranks[near]]
        if len(self._far):
            far = ranks >= len(self._near)
            found[far] = self._far.get_many(ranks[far])
        return found

    def row(self, rank: int) -> int | None:
        """Return the row of a rank, None where it has none."""
        if rank < 0:
            return None
        row = int(self._near[rank]) if rank < len(self._near) else self._far.get(rank)
        return None if row < 0 else row

    def _number(self, new: Ints, first: int) -> None:
        """Note that ranks have the rows from `first` on."""
        end = int(new.max()) + 1
        if end > len(self._near):
            if end <= max(_FEW, _SPREAD * len(self.ranks)):
                every = np.array(self.ranks, np.int64)
                self._near = np.full(max(2 * len(self._near), end), UNKNOWN, np.int32)
                self._far = KeyNumbers(16)
                new, first = every, 0
            far = new >= len(self._near)
            numbers = np.flatnonzero(far).astype(np.int32) + np.int32(first)
            self._far.put_many(new[far], numbers)
        near = new < len(self._near)
        self._near[new[near]] = np.flatnonzero(near) + first

    def move(self, rows: Ints, hosts: Ints, *, only_new: bool = False) -> None:
        """Note the hosts that ranks report from, -1 where unknown; `only_new`: where none is."""
        changed = (hosts >= 0) & (self.hosts[rows] != hosts)
        if only_new:
            changed &= self.hosts[rows] < 0
        if changed.any():
            self.hosts[rows[changed]] = hosts[changed]
            self.version += 1

    def standing(self, rank: int | None) -> int:
        """Return `checked` of a rank; of None that of the job: CHECKED where any rank is."""
        if rank is None:
            return int(self.checked[: len(self.ranks)].max(initial=UNKNOWN))
        row = self.row(rank)
        return UNKNOWN if row is None else int(self.checked[row])

    def claimed_ranks(self) -> frozenset[int]:
        """Return the ranks that are only claimed."""
        rows = np.flatnonzero(self.checked[: len(self.ranks)] == ONLY_CLAIMED)
        return frozenset(self.ranks[row] for row in rows.tolist())

    def placement(self, row: int, host_names: list[str]) -> RankPlacement:
        """Return where the rank of a row runs."""
        number = int(self.hosts[row])
        return RankPlacement(
            rank=self.ranks[row],
            host=host_names[number] if number >= 0 else "",
            local_rank=_known(self.local_ranks[row]),
            pid=_known(self.pids[row]),
            hw_id=self.hw_ids[row],
            dp=_known(self.dp[row]),
            tp=_known(self.tp[row]),
            pp=_known(self.pp[row]),
            ep=_known(self.ep[row]),
        )

    def column(self, name: str) -> "array[int]":
        return self.column_of(getattr(self, name)[: len(self.ranks)])

    @staticmethod
    def column_of(values: Ints) -> "array[int]":
        """Return integers as the array of a topology."""
        return array("q", values.astype(np.int64).tobytes())


def _known(value: int) -> int | None:
    return None if value < 0 else int(value)
