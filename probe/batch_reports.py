"""What is sent of a step's batches: only where the step is suspicious, or a landmark of a resume.

Made in the sender's thread. Of a suspicious step the two before it are sent too: an update shows in
the loss of the step after it.
"""

import hashlib
import math
from collections import deque
from collections.abc import Sequence

from ..vocabulary.samples import Event, Scalar
from . import batch_ring, fingerprints, layer_gradients, weights
from .batch_ring import BatchRing
from .fingerprints import BatchFingerprint
from .step_record import StepRecord
from .suspicion import StepSuspicion

EVENT = "training.batch"
_SKETCH = ("gradient_own", "gradient_newest", "gradient_used")
BEFORE = 2
_REMEMBERED = 64
_BURST, _REFILL_SECONDS = 48.0, 10.0
"""Events that may be sent at once, and how long each takes to be allowed again."""
_REPEATED, _USUALLY = 0.25, 0.1
"""So many of a step's samples have to have been seen before, where so few usually are."""
_SURELY = 0.5
_STEPS, _FEWEST = 24, 16
"""From such a share on a step is suspicious for it; steps that say what is usual, and at least."""
_STREAM = slice(24, 24 + 8 * 624)
"""Of the state of torch's random numbers the words that 624 draws share; before them is how many of
these were drawn. So a draw more or less leaves it as it is, nearly always."""


class BatchReports:
    """Makes events of step records, in their order; failures are counted by the sender."""

    def __init__(self, ring: BatchRing) -> None:
        self._ring = ring
        self._suspicion = StepSuspicion()
        self._recent: deque[StepRecord] = deque(maxlen=BEFORE + 1)
        self._sent: deque[int] = deque(maxlen=_REMEMBERED)
        self._allowed, self._at = _BURST, -math.inf
        self._seen: dict[tuple[int, int], int] = {}
        self._order: deque[tuple[int, tuple[int, ...]]] = deque()
        self._shares: deque[float] = deque(maxlen=_STEPS)

    def settle(self) -> None:
        """Make the fingerprints of the batches that were fetched since."""
        self._ring.settle()

    def look(self, record: StepRecord, rank: int) -> list[Event]:
        """Return what to send of this step, and of those before it where it is suspicious."""
        if not self._ring.on:
            return []
        self.settle()
        self._recent.append(record)
        reason = self._suspicion.reason(record)
        again = self._comes_again(record.step)
        if not reason and again:
            reason = "repeat"
        if reason == "repeat":
            wanted = [record]
        elif reason:
            self._ring.suspected(record.step)
            wanted = list(self._recent)
        elif record.state is not None:
            wanted, reason = [record], "landmark"
        else:
            return []
        batches = self._ring.batches()
        events: list[Event] = []
        for one in wanted:
            if one.step not in self._sent and self._may_send(one.at):
                self._sent.append(one.step)
                why = reason if one is record else "before"
                events.append(Event(EVENT, one.at, self._described(one, batches, rank, why)))
        return events

    def _comes_again(self, step: int) -> bool:
        """Return whether samples of a step were there before in this epoch, as usually none is."""
        rows = again = 0
        for one in self._ring.of_step(step):
            keys = [(one.epoch, row) for row in one.rows]
            rows += len(keys)
            again += sum(self._seen.get(key, step) != step for key in keys)
            for key in keys:
                self._seen.setdefault(key, step)
            self._order.append((one.epoch, one.rows))
        while len(self._order) > batch_ring.KEPT:
            epoch, gone = self._order.popleft()
            for row in gone:
                self._seen.pop((epoch, row), None)
        if not rows:
            return False
        share = again / rows
        usual = sorted(self._shares)
        found = len(usual) >= _FEWEST and share >= _SURELY and usual[len(usual) // 2] <= _USUALLY
        self._shares.append(share)
        return found

    def _may_send(self, at: float) -> bool:
        passed = max(at - self._at, 0.0) / _REFILL_SECONDS
        self._allowed, self._at = min(_BURST, self._allowed + passed), at
        if self._allowed < 1.0:
            return False
        self._allowed -= 1.0
        return True

    def _described(
        self, record: StepRecord, batches: Sequence[BatchFingerprint], rank: int, reason: str
    ) -> dict[str, Scalar]:
        step = record.step
        own = [one for one in batches if one.step == step]
        found: dict[str, Scalar] = {"rank": rank, "step": step, "reason": reason}
        rate = record.values.get(("training.learning_rate", ""))
        if rate is not None and math.isfinite(rate[0]):
            found["learning_rate"] = rate[0]
        if record.state is not None:
            state = record.state
            if state.updates >= 0:
                found["updates"] = state.updates
            if state.random:
                found["random"] = _short(state.random)
                if len(state.random) >= _STREAM.stop:
                    found["random_stream"] = _short(state.random[_STREAM])
            if state.weights:
                found["weights"] = weights.digests(state.weights)
            if state.replicas:
                found["replicas"] = state.replicas
            if state.began_with:
                found["weights_first"] = state.began_with
            if state.gradients:
                found["gradients"] = state.gradients
            if math.isfinite(state.moments):
                found["moments"] = state.moments
            if state.sketch and state.passes == len(own):
                # Several passes of one batch are no micro-batches.
                found["passes"] = state.passes
                found |= zip(_SKETCH, state.sketch, strict=True)
        if record.layers and reason != "landmark":
            found |= layer_gradients.described(record.layers)
        if not own:
            return found
        found["hash"] = fingerprints.combined(row for one in own for row in one.rows)
        found["samples"] = sum(one.samples for one in own)
        odd = batch_ring.unusual(batches, step)
        named = own
        if odd is not None:
            batch, figure, value, low, high = odd
            named = [batch]
            found |= {"micro": batch.micro, "unusual": figure, "low": low, "high": high}
            found["value"] = value if math.isfinite(value) else repr(value)
        again, of, before, usually = batch_ring.repeats(batches, step)
        if before is not None and again >= _REPEATED * of and usually <= _USUALLY:
            found |= {"repeats": again, "of": of, "repeated_step": before}
        ids = self._ring.named(each for one in named for each in one.ids)
        if ids:
            found["ids"] = ids
        return found


def _short(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
