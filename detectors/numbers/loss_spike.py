"""Loss spikes: the loss jumps at one step, and comes back."""

from collections.abc import Sequence

from ...vocabulary.findings import Finding
from .. import curves
from ..contract import Detector
from ..curves import JobCurve
from ..findings import report
from ..window import JobWindow
from . import excess
from .divergence import lasting


class LossSpikeDetector(Detector):
    """Report that the job's loss jumped, and whether it has recovered.

    A point stands out when it is further above the median of the 32 points before it than the tail
    of the past 256 excesses allows (see excess.py) and at least `least` of the level. Where the
    loss is one rank's own, the next point has to be high as well. It is over when three points in
    a row are below half of the limit; one that lasts is a divergence (divergence.py).

    The job goes on undisturbed, so the symptom has no effect and is never more than information; it
    is reported because the weights were hurt, and spikes that return announce a divergence.

    Parameters
    ----------
    least : smallest excess, as a share of the level.
    keep : points after its end for which a spike is reported.
    few : points before a spike in a curve that has only begun; of a log, which may be an excerpt,
        fewer are enough.

    Examples
    --------
    At step 150 the loss jumps from 2 to 3 and needs three steps to come back.

    >>> import numpy as np
    >>> from rankscope.detectors.sketch import sketch
    >>> loss = np.random.default_rng(7).normal(2.0, 0.02, (1, 160))
    >>> loss[0, 150:153] += [1.0, 0.5, 0.2]
    >>> window = sketch(np.full((1, 160), 0.8), hosts=1, planes={"training.loss": loss})
    >>> (spike,) = LossSpikeDetector().evaluate(window)
    >>> print(spike.kind, spike.text)
    job.loss_spike the loss jumped from 2 to 2.99 at step 150 and came back within 3 steps

    Fails in the first 48 points of an attempt, and where a single rank reports a spike that is over
    by the next report: that is what an odd batch looks like. Cannot see its cause.

    References: PaLM (2022) 5.1; Takase et al., Spike no more (2023); the real curves of
    bench/curves.py, where mean + 6 standard deviations is false 26 times in 10,000 healthy reports.
    """

    name = "loss_spike"
    kinds = ("job.loss_spike",)
    of_steps = True

    def __init__(
        self, *, least: float = 0.05, keep: int = 10, few: int = excess.FEWEST_EARLY
    ) -> None:
        self.least = least
        self.keep = keep
        self.few = few

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return the newest spike while it goes on and shortly after."""
        loss = window.features.whole_loss
        found = excess.found(
            loss,
            least=self.least,
            noise=window.features.loss_noise,
            memory=window.baselines.loss,
            few=self.few,
        )
        if not found:
            return []
        spike = found[-1]
        since = len(loss) - 1 - spike.last
        if since > self.keep + excess.ENDS_AFTER or (
            not spike.over and lasting(loss.cut(spike.first, len(loss)))
        ):
            return []
        return [self._finding(window, loss, spike)]

    def _finding(self, window: JobWindow, loss: JobCurve, spike: excess.CurveExcess) -> Finding:
        first, last = int(loss.index[spike.first]), int(loss.index[spike.last])
        steps = last - first + 1
        end = f"came back within {steps} steps" if spike.over else "has not come back yet"
        before = float(loss.at[spike.first - 1])
        return report(
            window,
            self.name,
            "job.loss_spike",
            window.entity,
            onset=(before, float(loss.at[spike.first])),
            seen=(before, float(loss.at[-1])),
            magnitude=spike.peak - spike.level,
            score=(spike.peak - spike.level) / spike.limit,
            signal=curves.LOSS,
            observed=spike.peak,
            expected=spike.level,
            text=f"the loss jumped from {spike.level:.3g} to {spike.peak:.3g} at step {first} and "
            f"{end}",
        )
