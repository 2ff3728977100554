"""What was in a suspicious step: its batches, the learning rate, the state after a resume."""

from collections.abc import Sequence

from ...vocabulary.findings import Finding
from ..contract import Detector
from ..window import JobWindow
from . import (
    layer_gradients,
    lone_batches,
    micro_batches,
    resumed_state,
    schedule,
    step_batches,
    weights,
)


class StepDetailsDetector(Detector):
    """Report what coincides with a spike, a NaN, a divergence or a bad resume.

    Each is evidence for causes and opens no incident: what is in the same step need not be the
    reason. The probe sends events of the batches of suspicious steps, and of the first steps of a
    process and those after a checkpoint. Reported are: a batch that is unlike the 512 micro-batches
    before it on its rank; samples of it that were in one of these before, where samples usually
    were new; the same batch on two replicas; batches of one rank that its loss alone is high of,
    while replicas have the same weights; the layers that a gradient norm comes from, and a single
    element that is larger than all the others together; a learning rate that rises by half and by
    four times what it usually rises by; and, at steps that an attempt before had too, another count
    of the optimizer's updates, another batch, learning rate or state of random numbers.

    Parameters
    ----------
    keep : steps for which what is known of a step is reported.

    Examples
    --------
    At step 59 rank 1 has a batch whose tokens are five times as large as usual, and a NaN.

    >>> import numpy as np
    >>> from rankscope.detectors.sketch import sketch
    >>> from rankscope.vocabulary.samples import Event
    >>> loss = np.full((2, 60), 2.0)
    >>> loss[1, -1] = np.nan
    >>> window = sketch(
    ...     np.full((2, 60), 0.8), hosts=1, planes={"training.loss|local": loss,
    ...     "training.nonfinite|loss": np.isnan(loss).astype(float)}
    ... )
    >>> known = {"rank": 1, "step": 59, "reason": "nonfinite", "hash": "0f", "ids": "472-479",
    ...          "unusual": "mean", "value": 25100.0, "low": 4300.0, "high": 4700.0}
    >>> event = Event("training.batch", window.now, known)
    >>> from dataclasses import replace
    >>> (odd,) = StepDetailsDetector().evaluate(replace(window, events=(event,)))
    >>> print(odd.kind, odd.ranks)
    job.batch_unusual 1
    >>> print(odd.text.split(": ")[1])
    the mean of its elements is 2.51e+04, usually 4300 to 4700

    Fails where batches are made on the device, where a loader is not torch's and not passed through
    `watch.data`, and where data repeat after more than 512 micro-batches. Cannot see what a batch
    says, only figures of it: a poisoned text of usual tokens looks like any other.

    References: PaLM (2022) 5.1 on spikes that need both the batch and the state of the weights.
    """

    name = "step_details"
    kinds = (
        "job.batch_unusual",
        "job.batch_repeated",
        "job.data_repeated",
        "job.data_unusual",
        "job.gradient_by_layer",
        "job.gradient_of_one_element",
        "job.learning_rate_jumped",
        "job.micro_batches_lost",
        "job.optimizer_not_restored",
        "job.data_not_restored",
        "job.schedule_not_restored",
        "job.random_state_differs",
        "job.state_not_restored",
        "job.weights_differ",
        "job.weights_parted",
        "rank.weights_differ",
    )
    of_steps = True

    def __init__(self, *, keep: int = 256) -> None:
        self.keep = keep

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding of a kind at most, but of replicas one for each that differs."""
        found = schedule.jumped(window, self.name)
        if window.named(step_batches.BATCH):
            said = list(step_batches.recent(window, self.keep))
            lone = lone_batches.found(window, said)
            odd = step_batches.unusual(window, self.name, said)
            found += odd or lone_batches.evidence(window, self.name, lone)
            found += lone_batches.unusual(window, self.name, lone)
            found += layer_gradients.found(window, self.name, said)
            found += step_batches.repeated(window, self.name, said)
            found += step_batches.again(window, self.name, said)
            found += resumed_state.lost(window, self.name, said)
            found += weights.differ(window, self.name, said)
            found += micro_batches.lost(window, self.name, said)
        return found
