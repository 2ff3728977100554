"""A loss that stands at the end of its scale, in the log of a job that is over."""

import math
from collections.abc import Sequence

from ...vocabulary.findings import Finding
from .. import curves
from ..ended_jobs import EndedJobDetector
from ..findings import report
from ..window import JobWindow

CLIPS = {
    "the smallest float32": (1.1754943508222875e-38, 10),
    "the smallest subnormal float32": (1.401298464324817e-45, 1),
    "1e-7, of Keras": (1e-7, 2),
    "1e-8, of MXNet and older Keras": (1e-8, 1),
    "1e-12, of MXNet": (1e-12, 1),
    "1e-15": (1e-15, 1),
}
"""Below these a probability is cut off before its logarithm is taken, by what does so, and of which
part of that logarithm a loss may be a whole number: heads have weights of tenths, and where two
answers are possible half of them may be right. Parts of powers of ten are those of a guess.
"""

FEWEST, DIGITS = 3, 5
"""So many points at the end of one number with so many digits at least."""

MOST, APART = 100, 2e-5
"""The most clips that a loss may be, and by what share six printed digits differ from that."""


class LossClipDetector(EndedJobDetector):
    """Find a loss that ends as the logarithm of the smallest probability that a framework computes.

    Each answer of the model is then given no chance at all, or is no number, which the cut hides:
    its outputs are lost, and no gradient leads back.

    In no list of detectors: of a live job its divergence shows by the rise. What is left of a job
    that is over often begins where it was long lost.

    Parameters
    ----------
    over : when the job was over, in seconds since the epoch: nothing is said before.

    Examples
    --------
    >>> import numpy as np
    >>> from rankscope.detectors.sketch import sketch
    >>> loss = np.array([[2.31, 2.29, 2.6, 87.3365, 87.3365, 87.3365]])
    >>> window = sketch(np.full((1, 6), 2.0), hosts=1, planes={"training.loss": loss})
    >>> (lost,) = LossClipDetector(over=0.0).evaluate(window)
    >>> lost.text
    'the loss is 87.3365 from step 3 on: answers have no chance above the smallest float32'

    Fails where a part of the loss moves on, so that no two sums are alike.

    Reference: Caffe 1.0, softmax_loss_layer.cpp (FLT_MIN); Keras, backend.epsilon; MXNet,
    metric.CrossEntropy (eps).
    """

    name = "loss_clip"
    kinds = ("job.loss_diverged",)

    def of_end(self, window: JobWindow) -> Sequence[Finding]:
        """Return at most one finding, on the job."""
        loss = window.baselines.loss.curve
        if len(loss) < FEWEST or len(set(loss.value[-FEWEST:].tolist())) > 1:
            return []
        value = float(loss.value[-1])
        clip = clip_of(value)
        if clip is None:
            return []
        begin = len(loss) - 1
        while begin and loss.value[begin - 1] == value:
            begin -= 1
        return [
            report(
                window,
                self.name,
                "job.loss_diverged",
                window.entity,
                onset=float(loss.at[begin]),
                seen=(float(loss.at[begin]), float(loss.at[-1])),
                magnitude=value,
                score=2.0,
                signal=curves.LOSS,
                observed=value,
                expected=float(loss.value[begin - 1]) if begin else None,
                text=f"the loss is {value:.6g} from step {int(loss.index[begin])} on: answers have "
                f"no chance above {clip}",
            )
        ]


def clip_of(loss: float) -> str | None:
    """Return at which clip a loss stands, None where at none."""
    digits, _, _ = f"{loss:.6g}".partition("e")
    if not loss > 0 or len(digits.replace(".", "").strip("0")) < DIGITS:
        return None
    for name, (smallest, parts) in CLIPS.items():
        part = -math.log(smallest) / parts
        count = round(loss / part)
        if 0 < count <= MOST * parts and math.isclose(loss, count * part, rel_tol=APART):
            return name
    return None
