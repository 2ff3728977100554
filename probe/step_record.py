"""One step: its durations and values, sent as one datagram with one timestamp."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

from ..vocabulary.samples import Attributes, Event, Sample, Scalar, attributes

_HOLD_SECONDS = 2.0
"""How long a record waits for its device values, and at least two steps of its own length."""
_HOLD_LONGEST_SECONDS = 30.0


class DeferredValues(Protocol):
    """Values that are still on a device. `done` turns True in the training thread."""

    done: bool

    def fill(self, record: "StepRecord") -> None:
        """Write what has arrived into the record; called once, in the sender's thread."""
        ...


@dataclass(frozen=True, slots=True)
class LayerGradient:
    """The gradient of one parameter. bad: how many of its elements are not finite.

    norm: of all elements, in double precision; largest: the magnitude of the largest one.
    """

    name: str
    norm: float
    largest: float
    bad: int


@dataclass(slots=True)
class StepState:
    """What a resume has to restore, and replicas have alike, copied at the end of a step.

    updates: as the optimizer counts them, -1 where it keeps no count. random: the state of torch's
    random numbers on the CPU. weights: sums of parameters by name. replicas: whose they are too.
    began_with: where nothing says whose, a digest of the weights before this process trained, and
    gradients one of what the update was made with. moments: norm of the optimizer's averages, NaN
    where unknown. sketch: sums of a gradient, of all passes, the newest, and the update (texts).
    """

    updates: int = -1
    random: bytes = b""
    weights: Sequence[tuple[str, int]] = ()
    replicas: str = ""
    began_with: str = ""
    gradients: str = ""
    moments: float = math.nan
    sketch: Sequence[str] = ()
    passes: int = 0


@dataclass(slots=True)
class StepRecord:
    """One step; filled by the training thread, encoded by the sender's.

    Durations are seconds, and no second is in two of them; `comm`, `data` and `compute` hold only
    where `..._known` (`own_known` for compute), the others where above 0. `residual`: compute runs
    on a device and was not timed there, so what is left of the step is sent instead.
    `losses_add_up`: the step's loss is the sum of its micro-batches' losses, else their mean.
    `state`: of a landmark (batch_ring), else None. `layers`: of a suspicious step, where known.
    `counted`: seconds that are already part of one of its durations; who adds to one adds to it.
    """

    at: float = 0.0
    step: int = 0
    duration: float = 0.0
    data: float = 0.0
    data_known: bool = False
    comm: float = 0.0
    comm_known: bool = False
    exact: bool = False
    own_known: bool = False
    compute: float = 0.0
    residual: bool = False
    optimizer: float = 0.0
    checkpoint: float = 0.0
    gc: float = 0.0
    loss_sum: float = 0.0
    loss_count: int = 0
    losses_add_up: bool = False
    losses_divided_by: int = 1
    counted: float = 0.0
    values: dict[tuple[str, str], tuple[float, str]] = field(default_factory=dict)
    state: StepState | None = None
    layers: Sequence[LayerGradient] = ()
    late: DeferredValues | None = None

    def set(self, metric: str, value: float, *, scope: str = "", of: str = "") -> None:
        """Keep a value of the step; a later one of the same metric replaces it."""
        self.values[metric, of] = (value, scope)

    def descriptor(self) -> int | None:
        """Return None: a step is a datagram alone."""
        return None

    def ready(self, now: float) -> bool:
        """Return whether the device values are here, or have been waited for long enough."""
        late = self.late
        if late is None or late.done:
            return True
        hold = min(max(_HOLD_SECONDS, 2 * self.duration), _HOLD_LONGEST_SECONDS)
        return not 0 <= now - self.at < hold

    def plain(self) -> bool:
        """Return whether the step may be left out where its neighbours are sent: all finite."""
        self._fill()
        return (
            self.checkpoint == 0.0
            and math.isfinite(self.loss_sum)
            and all(math.isfinite(value) for value, _scope in self.values.values())
            and not any(of for _metric, of in self.values)
        )

    def loss(self) -> float:
        """Return the loss of the step, NaN where it has none."""
        self._fill()
        found = self.values.get(("training.loss", ""))
        if found is not None:
            return found[0]
        losses = 1 if self.losses_add_up else self.loss_count
        if not self.loss_count:
            return math.nan
        return self.loss_sum * self.losses_divided_by / losses

    def finite(self) -> bool:
        """Return whether all its values are, and nothing was seen that is not."""
        self._fill()
        return (
            math.isfinite(self.loss_sum)
            and all(math.isfinite(value) for value, _scope in self.values.values())
            and not any(of and value > 0 for (_metric, of), (value, _) in self.values.items())
        )

    def parts(self, rank: int) -> tuple[list[Sample], list[Event]]:
        """Return the samples of the step, and an event for each kind of non-finite value."""
        self._fill()
        if self.loss_count and ("training.loss", "") not in self.values:
            self.set("training.loss", self.loss(), scope="local")
        bad = self._non_finite()
        for what, (count, _value) in bad.items():
            if count > 0:
                self.set("training.nonfinite", count, of=what)
        samples = self._times(rank)
        for (metric, of), (value, scope) in self.values.items():
            samples.append(Sample(metric, value, self.at, _attributes(rank, scope=scope, of=of)))
        events: list[Event] = []
        for what, (_count, value) in bad.items():
            labels: dict[str, Scalar] = {
                "rank": rank,
                "step": self.step,
                "what": what,
                "value": repr(value),  # nan, inf, -inf: as text every JSON can carry it
            }
            events.append(Event("training.numeric", self.at, labels))
        return samples, events

    def _fill(self) -> None:
        late, self.late = self.late, None
        if late is not None and late.done:
            late.fill(self)

    def _times(self, rank: int) -> list[Sample]:
        plain = _attributes(rank)
        graded = _attributes(rank, quality="exact" if self.exact else "estimated")
        found = [
            Sample("training.step", float(self.step), self.at, plain),
            Sample("training.step.duration", self.duration, self.at, plain),
        ]
        if self.data_known:
            found.append(Sample("training.data.duration", self.data, self.at, plain))
        if self.comm_known:
            found.append(Sample("training.comm.duration", self.comm, self.at, graded))
        if self.own_known:
            compute = self.compute
            if self.residual:
                other = self.data + self.comm + self.optimizer + self.checkpoint + self.gc
                compute = max(0.0, self.duration - other)
            found.append(Sample("training.compute.duration", compute, self.at, graded))
        for name in ("optimizer", "checkpoint", "gc"):
            seconds = getattr(self, name)
            if seconds > 0.0:
                found.append(Sample(f"training.{name}.duration", seconds, self.at, plain))
        return found

    def _non_finite(self) -> dict[str, tuple[float, float]]:
        """Return what was not finite: loss, grad_local or grad_reduced, how many, and the value."""
        found: dict[str, tuple[float, float]] = {}
        for (metric, of), (value, scope) in self.values.items():
            if metric == "training.nonfinite":
                found.setdefault(of, (value, math.nan))
            elif math.isfinite(value):
                continue
            elif metric == "training.loss":
                found["loss"] = (1.0, value)
            elif metric == "training.grad_norm":
                what = "grad_local" if scope == "local" else "grad_reduced"
                count = self.values.get(("training.nonfinite", what), (0.0, ""))[0]
                found[what] = (count, value)
        return found


@lru_cache(256)
def _attributes(rank: int, scope: str = "", of: str = "", quality: str = "") -> Attributes:
    named = {"scope": scope, "of": of, "quality": quality}
    return attributes({"rank": rank, **{name: text or None for name, text in named.items()}})
