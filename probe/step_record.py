"""What is known of one step, and how it is said: one datagram, one timestamp."""

import math
from dataclasses import dataclass, field
from typing import Protocol

from ..vocabulary.samples import Attributes, Event, Sample, Scalar, attributes

_HOLD_SECONDS = 2.0
"""How long a record waits for its device values, and at least two steps of its own length."""
_HOLD_LONGEST_SECONDS = 30.0


class Late(Protocol):
    """Values that a device still owes. `done` turns True in the training thread."""

    done: bool

    def fill(self, record: "StepRecord") -> None:
        """Write what has arrived into the record; called once, in the sender's thread."""
        ...


@dataclass(slots=True)
class StepRecord:
    """One step. Seconds; `comm` holds only when `comm_known`; a spent time of 0 was not seen.

    `loss` holds one value a micro-batch. `said` holds values that the loop recorded by hand or a
    hook measured: (metric, value, further attributes).
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
    compute: float | None = None
    optimizer: float = 0.0
    checkpoint: float = 0.0
    gc: float = 0.0
    loss: list[float] = field(default_factory=list)
    loss_scope: str | None = "local"
    said: list[tuple[str, float, dict[str, Scalar]]] = field(default_factory=list)
    late: Late | None = None

    def ready(self, now: float) -> bool:
        """Return whether the device values are here, or have been waited for long enough."""
        hold = min(max(_HOLD_SECONDS, 2 * self.duration), _HOLD_LONGEST_SECONDS)
        return self.late is None or self.late.done or not 0 <= now - self.at < hold

    def parts(self, rank: int) -> tuple[list[Sample], list[Event]]:
        """Return the samples of the step, and an event for each kind of non-finite value."""
        if self.late is not None and self.late.done:
            self.late.fill(self)
        plain = attributes({"rank": rank})
        samples = [
            Sample("training.step", float(self.step), self.at, plain),
            Sample("training.step.duration", self.duration, self.at, plain),
        ]
        samples += self._times(plain, rank)
        events: list[Event] = []
        for metric, value, more in self._values():
            samples.append(Sample(metric, value, self.at, attributes({"rank": rank, **more})))
        for what, value in self._broken():
            said: dict[str, Scalar] = {
                "rank": rank,
                "step": self.step,
                "what": what,
                "value": spelled(value),
            }
            events.append(Event("training.numeric", self.at, said))
        return samples, events

    def _times(self, plain: Attributes, rank: int) -> list[Sample]:
        quality = "exact" if self.exact else "estimated"
        graded = attributes({"rank": rank, "quality": quality})
        found: list[Sample] = []
        if self.data_known:
            found.append(Sample("training.data.duration", self.data, self.at, plain))
        if self.comm_known:
            found.append(Sample("training.comm.duration", self.comm, self.at, graded))
        compute = self.compute
        if compute is None and self.own_known:
            # What is left of the step when every wait and every pause that was seen is taken out.
            spent = self.data + self.comm + self.optimizer + self.checkpoint
            compute = max(0.0, self.duration - spent)
        if compute is not None:
            found.append(Sample("training.compute.duration", compute, self.at, graded))
        for name in ("optimizer", "checkpoint", "gc"):
            seconds = getattr(self, name)
            if seconds > 0.0:
                found.append(Sample(f"training.{name}.duration", seconds, self.at, plain))
        return found

    def _values(self) -> list[tuple[str, float, dict[str, Scalar]]]:
        values = list(self.said)
        said = {metric for metric, _value, _more in values}
        if self.loss and "training.loss" not in said:
            mean = sum(self.loss) / len(self.loss)
            more: dict[str, Scalar] = {"scope": self.loss_scope} if self.loss_scope else {}
            values.append(("training.loss", mean, more))
        for metric, value, _more in tuple(values):
            if metric == "training.loss" and not math.isfinite(value):
                values.append(("training.nonfinite", 1.0, {"of": "loss"}))
        return values

    def _broken(self) -> list[tuple[str, float]]:
        found: dict[str, float] = {}
        for metric, value, more in self._values():
            if math.isfinite(value):
                continue
            if metric == "training.loss":
                found.setdefault("loss", value)
            elif metric == "training.grad_norm":
                local = more.get("scope") == "local"
                found.setdefault("grad_local" if local else "grad_reduced", value)
        return list(found.items())


def spelled(value: float) -> str:
    """Return `nan`, `inf`, `-inf` or the number: text, which every JSON can carry."""
    return repr(float(value))
