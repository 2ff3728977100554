"""The step grid of one job attempt: planes of [ranks, steps] on the ruler of step indices.

A point has its rank and its time; the step it belongs to is reported by the `training.step` point
with the same rank and time. A point that arrives before its step waits; where a job never reports
steps, the distinct times of each rank are counted instead. What the allocator holds is a state,
which senders also read by a timer: between two steps it is written to the one that ended last, and
it is never counted as a step.
"""

from collections import deque
from itertools import pairwise
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ...detectors.window import Floats, Ints, StepValues
from .arrivals import StepArrivals
from .columns import StepMatrices, longer
from .step_orders import StepOrder
from .write_orders import KeptOrders, by_planes, edges

MOST_AHEAD = 1e6
"""Steps that a rank may be ahead of all others at once; a step index beyond it is a mistake."""

LOOK_BACK = 128
"""Columns searched for the step of a late point."""

STEP_INDEX_TIMEOUT_SECONDS = 10.0
"""How long points wait for `training.step` before a job counts as one that never reports it."""

MOST_WAITING = 200_000

_STATES = "training.memory."
"""How the metrics begin that have a value at any time, whatever step is running."""

REPORTED_NAN = -np.inf
"""What stands in a plane for a NaN that was reported; infinities of either sign are +Inf there."""


_Ended = tuple[Ints, Floats, Ints]
"""Steps that just ended, as rows, times and columns."""

_KEYED_SECONDS = 1e6
"""Row and microseconds share 63 bits: 40 for the time."""

_NOBODY = np.iinfo(np.int8).max


class _WaitingPart(NamedTuple):
    """Points of one batch whose steps are not known yet, all [points], and when it was received."""

    planes: Ints
    rows: Ints
    at: Floats
    value: Floats
    received: float

    def of(self, which: NDArray[np.bool_]) -> "_WaitingPart":
        """Return some of the points."""
        return _WaitingPart(
            self.planes[which], self.rows[which], self.at[which], self.value[which], self.received
        )


def _key(rows: Ints, seconds: Floats) -> Ints:
    """Return one integer for a row and a time, to the microsecond."""
    key: Ints = (rows << 40) + np.rint(seconds * 1e6).astype(np.int64)
    return key


class StepGrid:
    """Planes over (rank, step). Rows are added by `add`; columns come and go with time."""

    STEP = "training.step"

    def __init__(self) -> None:
        self.columns = StepMatrices()
        self.arrivals = StepArrivals()
        self.late = 0
        self.last_received: Floats = np.zeros(0)
        self.last_at: Floats = np.zeros(0)
        self.last_index: Ints = np.zeros(0, np.int64)
        self.began_again: Floats = np.zeros(0)
        """[rows], when a rank's step index last fell."""
        self._best: list[NDArray[np.int8]] = []
        self._writer: list[NDArray[np.int32]] = []
        self._reports_steps = False
        self._counted: Ints = np.zeros(0, np.int64)
        self._waiting: deque[_WaitingPart] = deque()
        self._points_waiting = 0
        self._waits_until: Floats = np.zeros(0)
        """[rows], no point that waits, or has waited, is later."""
        self._rolled_back = False
        """Steps were undone since what waits was last looked through."""
        self._states_wait = False
        """States that were read since a rank's last step may be among what waits."""
        self._orders = KeptOrders(StepOrder)

    @property
    def used(self) -> int:
        """Return how many steps are held."""
        return self.columns.used

    @property
    def nbytes(self) -> int:
        """Return how many bytes the matrices take."""
        return self.columns.nbytes

    def add(self, height: int) -> None:
        """Make room for so many ranks."""
        self.columns.add(height)
        if height <= len(self.last_at):
            return
        size = max(height, 2 * len(self.last_at), 4)
        for name, fill in (
            ("last_received", -np.inf),
            ("last_at", -np.inf),
            ("last_index", -1),
            ("began_again", -np.inf),
            ("_counted", 0),
            ("_waits_until", -np.inf),
        ):
            setattr(self, name, longer(getattr(self, name), size, fill))
        self._best = [longer(best, size, _NOBODY) for best in self._best]
        self._writer = [longer(writer, size, -1) for writer in self._writer]

    def plane(self, name: str) -> int:
        """Return the number of a plane, adding it when it is new."""
        number = self.columns.plane(name)
        while len(self._best) <= number:
            self._best.append(np.full(len(self.last_at), _NOBODY, np.int8))
            self._writer.append(np.full(len(self.last_at), -1, np.int32))
        return number

    def claim(
        self, plane: int, rows: Ints, sources: NDArray[np.int8], series: NDArray[np.int32]
    ) -> tuple[NDArray[np.bool_], NDArray[np.int32]]:
        """Return ([points] may this series write its row, the series that must stop).

        The first source in the order of `attributes.SOURCES` wins, whichever was received first.
        """
        best, writer = self._best[plane], self._writer[plane]
        may = sources <= best[rows]
        better = sources < best[rows]
        worse = writer[rows[better]]
        best[rows[may]], writer[rows[may]] = sources[may], series[may]
        return may, worse[worse >= 0]

    def append_parts(
        self, planes: Ints, rows: Ints, at: Floats, value: Floats, part: Ints, now: Floats
    ) -> None:
        """Write points of some batches, all [points], as if one batch came after the other.

        part: the number of the batch, ascending. now: when it was received.
        """
        if self._reports_steps and not self._waiting:
            self.append(planes, rows, at, value, now)
            return
        # Which points have waited for long enough depends on what steps came with which batch.
        steps = planes == self.columns.plane_ids.get(self.STEP, -1)
        if self._reports_steps and not steps.any():
            self.append(planes, rows, at, value, now)
            return
        for begin, end in pairwise(edges(part)):
            one = slice(begin, end)
            self.append(planes[one], rows[one], at[one], value[one], now[one])

    def append(
        self, planes: Ints, rows: Ints, at: Floats, value: Floats, now: Floats | float
    ) -> None:
        """Write points, all [points]. `now` is when they were received, ascending."""
        if not len(rows):
            return
        now = np.broadcast_to(now, rows.shape)
        self.last_received[rows] = now
        if np.count_nonzero(np.isfinite(value)) < len(value):
            # NaN in the grid means that nobody reported.
            infinite = np.where(np.isinf(value), np.inf, value)
            value = np.where(np.isnan(value), REPORTED_NAN, infinite)
        ends = self.columns.plane_ids.get(self.STEP, -1)
        order = self._orders.of(planes, rows, ends, self.columns.height)
        steps, others = order.steps, order.others
        if len(steps):
            self._reports_steps = True
            ended = self._end_steps(rows[steps], at[steps], value[steps], float(now[-1]))
            if not self._place_alike(order, at, value, ended):
                self._place(
                    planes[others], rows[others], at[others], value[others], now[others], ended
                )
            self._retry(ended, float(now[-1]))
        else:
            self._place(planes, rows, at, value, now, None)
        if not self._reports_steps and self._waiting:
            self._count_instead(float(now[-1]))

    def view(self) -> StepValues:
        """Return the grid as detectors see it (views, no copies; values are float32)."""
        columns = self.columns
        here, height = columns.here, columns.height
        planes = {
            # Detectors are typed for float64, to which numpy promotes what they compute.
            name: cast("Floats", plane[here, :height].T)
            for name, plane in zip(columns.names, columns.planes, strict=True)
            if name != self.STEP and not name.startswith("~")
        }
        return StepValues(columns.index[here], columns.at[here, :height].T, planes)

    def _end_steps(self, rows: Ints, at: Floats, steps: Floats, now: float) -> _Ended | None:
        # One rank's absurd index must not become the newest column of everybody.
        most = min(2.0**53, self.columns.newest + MOST_AHEAD) if self.used else 2.0**53
        sane = (steps > -(2.0**53)) & (steps < most)
        if np.count_nonzero(sane) < len(sane):
            if self.used:
                self.late += int((~sane).sum())
            rows, at, steps = rows[sane], at[sane], steps[sane]
            if not len(rows):
                return None
        index, last_at = steps.astype(np.int64), self.last_at[rows]
        # A rank whose step index falls while its time goes on was rolled back: what it had reported
        # of later steps is undone.
        back = (index < self.last_index[rows]) & (at > last_at)
        if np.count_nonzero(back):
            for row in np.unique(rows[back]):
                self.columns.undo(int(row), int(index[back & (rows == row)].min()))
            self.columns.shrink()
            self._rolled_back = True
            self.began_again[rows[back]] = at[back]
        newest = self.columns.newest
        first = index[:1]
        if np.count_nonzero(index == first) == len(index):  # as mostly: one step
            known, column_of = self.columns.of(first)
            column = np.full(len(index), column_of.item(0))
        else:
            known, column_of = self.columns.of(np.unique(index))
            column = column_of[np.searchsorted(known, index)]
        self.arrivals.take(int(np.count_nonzero(known > newest)), now)
        kept = column >= 0
        if np.count_nonzero(kept) < len(kept):
            self.late += int((~kept).sum())
            rows, column, at, index = rows[kept], column[kept], at[kept], index[kept]
            last_at = last_at[kept]
        new = self.columns.end(rows, column, at)
        # A step whose end is reported again (a gauge that is scraped repeats itself) ended once.
        newer = (new & (at >= last_at)).nonzero()[0]
        ordered = newer[at[newer].argsort(kind="stable")]
        self.last_at[rows[ordered]], self.last_index[rows[ordered]] = at[ordered], index[ordered]
        return rows, at, column

    def _place_alike(
        self, order: StepOrder, at: Floats, value: Floats, ended: _Ended | None
    ) -> bool:
        """Write points that have the very time of their rank's step in this batch.

        False, with nothing written, where it is not so of all of them.
        """
        if ended is None or order.step_of is None or len(ended[0]) < len(order.steps):
            return False
        points, ends = order.by_plane, ended[1]
        if np.count_nonzero(at[points] != ends[order.step_of]):
            return False
        if np.maximum.reduce(ends) - np.minimum.reduce(ends) > _KEYED_SECONDS:
            return False
        column = ended[2]
        first = column.item(0)
        one = np.count_nonzero(column == first) == len(column)
        columns, values = column[order.step_of], value[points]
        with np.errstate(over="ignore"):  # beyond float32: infinite
            for number, begin, end, rows in order.writes:
                where = first if one else columns[begin:end]
                if not one and isinstance(rows, slice):
                    rows = np.arange(rows.start, rows.stop)
                self.columns.write(number, rows, where, values[begin:end])
        return True

    def _place(
        self, planes: Ints, rows: Ints, at: Floats, value: Floats, now: Floats, ended: _Ended | None
    ) -> None:
        if not len(rows):
            return
        column = self._match(rows, at, ended)
        found = column >= 0
        if not found.all():
            found = self._between_steps(planes, rows, at, column) >= 0
        if found.all():
            self._write(planes, rows, column, value)
            return
        if found.any():
            self._write(planes[found], rows[found], column[found], value[found])
        lost = ~found
        planes, rows, at, value, now = planes[lost], rows[lost], at[lost], value[lost], now[lost]
        self._states_wait = self._states_wait or bool(self._are_states(planes).any())
        np.maximum.at(self._waits_until, rows, at)
        for begin, end in pairwise(edges(now)):
            one = slice(begin, end)
            part = _WaitingPart(planes[one], rows[one], at[one], value[one], float(now[begin]))
            self._waiting.append(part)
        self._points_waiting += len(rows)
        while self._points_waiting > MOST_WAITING:
            self._give_up()

    def _write(self, planes: Ints, rows: Ints, column: Ints, value: Floats) -> None:
        order = by_planes(planes)  # senders order points by metric
        if order is not None:
            planes, rows, column, value = planes[order], rows[order], column[order], value[order]
        with np.errstate(over="ignore"):  # beyond float32: infinite
            for begin, end in pairwise(edges(planes)):
                part = slice(begin, end)
                self.columns.write(int(planes[begin]), rows[part], column[part], value[part])

    def _match(self, rows: Ints, at: Floats, ended: _Ended | None) -> Ints:
        """Return [points] columns as `_find` does; most belong to the steps that just ended."""
        if ended is None or not len(ended[0]):
            return self._find(rows, at)
        base = min(float(ended[1].min()), float(at.min()))
        if max(float(ended[1].max()), float(at.max())) - base > _KEYED_SECONDS:
            return self._find(rows, at)
        known, wanted = _key(ended[0], ended[1] - base), _key(rows, at - base)
        order = np.argsort(known)
        place = np.minimum(np.searchsorted(known, wanted, sorter=order), len(known) - 1)
        place = order[place]
        column = np.where(known[place] == wanted, ended[2][place], -1)
        missing = np.flatnonzero(column < 0)
        if len(missing):
            column[missing] = self._find(rows[missing], at[missing])
        return column

    def _find(self, rows: Ints, at: Floats) -> Ints:
        """Return [points] the column whose step of that rank ended at that time; -1 if none."""
        if not self.used or (at > self.last_at[rows]).all():
            return np.full(len(rows), -1)  # no step has ended so late
        end = self.columns.start + self.used
        first = max(self.columns.start, end - LOOK_BACK)
        # Points of one step share rank and time, so few distinct pairs are looked up.
        times, time_of = np.unique(at, return_inverse=True)
        height = self.columns.height
        pair = time_of * height + rows
        pairs, pair_of = np.unique(pair, return_inverse=True)
        pair_rows, pair_at = pairs % height, times[pairs // height]
        hit = self.columns.at[first:end, pair_rows] == pair_at
        column = np.where(hit.any(axis=0), hit.argmax(axis=0) + first, -1)
        return column[pair_of]

    def _retry(self, ended: _Ended | None, now: float) -> None:
        """Write what has waited for steps that just ended, and give up what has for too long."""
        if self._waiting and (self._may_match(ended) or self._states_wait):
            waiting, self._waiting, self._states_wait = self._waiting, deque(), False
            for part in waiting:
                column = self._find(part.rows, part.at)
                found = self._between_steps(part.planes, part.rows, part.at, column) >= 0
                if found.any():
                    here = part.of(found)
                    self._write(here.planes, here.rows, column[found], here.value)
                    self._points_waiting -= len(here.rows)
                    part = part.of(~found)
                if len(part.rows):
                    self._waiting.append(part)
                    states = self._are_states(part.planes)
                    self._states_wait = self._states_wait or bool(states.any())
        self._give_up_before(now)

    def _give_up_before(self, now: float) -> None:
        """Let go of what has waited for too long."""
        while self._waiting and now - self._waiting[0].received >= STEP_INDEX_TIMEOUT_SECONDS:
            self._give_up()

    def _give_up(self) -> None:
        """Let go of what has waited for longest, but for states between steps."""
        part = self._waiting.popleft()
        self._points_waiting -= len(part.rows)
        self.late += len(part.rows) - self._write_states(part)

    def _write_states(self, part: _WaitingPart) -> int:
        """Write states to the last step that had ended by then; return how many points."""
        part = part.of(self._are_states(part.planes))
        column = self._last_ended(part.rows, part.at)
        found = column >= 0
        if found.any():
            here = part.of(found)
            self._write(here.planes, here.rows, column[found], here.value)
        return int(np.count_nonzero(found))

    def _between_steps(self, planes: Ints, rows: Ints, at: Floats, column: Ints) -> Ints:
        """Give states the column of the step before, where their rank has ended one since."""
        late = (column < 0) & (at < self.last_at[rows])
        if late.any():
            states = late & self._are_states(planes)
            column[states] = self._last_ended(rows[states], at[states])
        return column

    def _are_states(self, planes: Ints) -> NDArray[np.bool_]:
        numbers = self.columns.plane_ids
        return np.isin(planes, [at for name, at in numbers.items() if name.startswith(_STATES)])

    def _last_ended(self, rows: Ints, at: Floats) -> Ints:
        """Return [points] the column of the rank's last step that had ended by then; -1 if none."""
        if not self.used:
            return np.full(len(rows), -1)
        end = self.columns.start + self.used
        first = max(self.columns.start, end - LOOK_BACK)
        ends = self.columns.at[first:end, rows]
        ended = np.where(ends <= at, ends, -np.inf)
        return np.where(np.isfinite(ended).any(axis=0), ended.argmax(axis=0) + first, -1)

    def _may_match(self, ended: _Ended | None) -> bool:
        """Tell whether any of these steps may be one that points wait for.

        Points are looked for when they come, so only what ended since can be theirs; or, where
        steps were undone, an older one that is among those looked at again.
        """
        if self._rolled_back:
            self._rolled_back = False
            return True
        return ended is not None and bool((ended[1] <= self._waits_until[ended[0]]).any())

    def _count_instead(self, now: float) -> None:
        """Count the distinct times of each rank as steps, where nobody reports step indices.

        A time at which only states were read is no step.
        """
        if now - self._waiting[0].received < STEP_INDEX_TIMEOUT_SECONDS and self.used == 0:
            return
        planes, rows, at, value = (
            np.concatenate([part[column] for part in self._waiting]) for column in range(4)
        )
        timed = ~self._are_states(planes)
        if not timed.any():
            self._give_up_before(now)
            return
        self._waiting, self._points_waiting = deque(), 0
        order = np.lexsort((at, rows))
        planes, rows, at, value = planes[order], rows[order], at[order], value[order]
        new = np.concatenate(([True], (rows[1:] != rows[:-1]) | (at[1:] != at[:-1])))
        firsts = np.flatnonzero(new)
        firsts = firsts[np.logical_or.reduceat(timed[order], firsts)]
        steps = np.zeros(len(firsts), np.int64)
        for number, row in enumerate(rows[firsts]):
            self._counted[row] += 1
            steps[number] = self._counted[row]
        self._end_steps(rows[firsts], at[firsts], steps.astype(np.float64), now)
        column = self._find(rows, at)
        found = column >= 0
        self._write(planes[found], rows[found], column[found], value[found])
        rest = _WaitingPart(planes, rows, at, value, now).of(~found)
        self.late += len(rest.rows) - self._write_states(rest)
