"""Where the ranks of an attempt run, as columns over the rows of its matrices."""

from array import array

import numpy as np
from numpy.typing import NDArray

from ...detectors.window import Ints
from ...vocabulary.topology import UNKNOWN, RankPlacement

_COLUMNS = ("hosts", "local_ranks", "pids", "dp", "tp", "pp", "ep", "started")


class PlacementColumns:
    """Columns [rows], UNKNOWN where nobody reports it; `hosts` are numbers of Hosts.

    started: when the rank's process started, seconds since the epoch. `version` moves with every
    change.
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
        self.version = 0
        self._row_of: NDArray[np.int32] = np.full(64, UNKNOWN, np.int32)

    def __len__(self) -> int:
        return len(self.ranks)

    def rows(self, ranks: Ints) -> Ints:
        """Return the rows of ranks, adding those that are new in their order."""
        most = int(ranks.max(initial=0))
        if most >= len(self._row_of):
            longer = np.full(max(2 * len(self._row_of), most + 1), UNKNOWN, np.int32)
            longer[: len(self._row_of)] = self._row_of
            self._row_of = longer
        new = ranks[self._row_of[ranks] < 0]
        if len(new):
            new = new[np.sort(np.unique(new, return_index=True)[1])]
            first = len(self.ranks)
            self._row_of[new] = np.arange(first, first + len(new))
            self.ranks.extend(new.tolist())
            self.hw_ids.extend([None] * len(new))
            if len(self.ranks) > len(self.hosts):
                size = max(64, 2 * len(self.ranks))
                for name in _COLUMNS:
                    old = getattr(self, name)
                    longer = np.full(size, UNKNOWN, np.int64)
                    longer[: len(old)] = old
                    setattr(self, name, longer)
            self.version += 1
        return self._row_of[ranks].astype(np.int64)

    def known_rows(self, ranks: Ints) -> Ints:
        """Return the rows of ranks, UNKNOWN where they have none; adds nobody."""
        found: Ints = np.full(len(ranks), UNKNOWN, np.int64)
        held = (ranks >= 0) & (ranks < len(self._row_of))
        found[held] = self._row_of[ranks[held]]
        return found

    def row(self, rank: int) -> int | None:
        """Return the row of a rank, None where it has none."""
        if not 0 <= rank < len(self._row_of) or self._row_of[rank] < 0:
            return None
        return int(self._row_of[rank])

    def move(self, rows: Ints, hosts: Ints, *, only_new: bool = False) -> None:
        """Note the hosts that ranks report from, -1 where unknown; `only_new`: where none is."""
        changed = (hosts >= 0) & (self.hosts[rows] != hosts)
        if only_new:
            changed &= self.hosts[rows] < 0
        if changed.any():
            self.hosts[rows[changed]] = hosts[changed]
            self.version += 1

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
        """Return a column for a topology."""
        return self.column_of(getattr(self, name)[: len(self.ranks)])

    @staticmethod
    def column_of(values: Ints) -> "array[int]":
        """Return integers as the array of a topology."""
        return array("q", values.astype(np.int64).tobytes())


def _known(value: int) -> int | None:
    return None if value < 0 else int(value)
