"""A loss that is lost by the words of a training script, which gave up over it."""

from collections.abc import Sequence

from ...vocabulary.findings import Finding
from .. import curves
from ..ended_jobs import EndedJobDetector
from ..findings import report
from ..tenants import own_logs, signature_of, text_of
from ..window import JobWindow

_SIGNATURE = "training.loss_exploded"


class LoggedDivergenceDetector(EndedJobDetector):
    """Report that a script says that its loss has exploded, where no step followed.

    In no list of detectors: a live job that goes on shows by its values what became of them. One
    that gives up often does so at its first bad value, which no curve would tell from a spike.

    Parameters
    ----------
    over : when the job was over, in seconds since the epoch: nothing is said before.

    Examples
    --------
    >>> import numpy as np
    >>> from rankscope.detectors.sketch import START, sketch
    >>> from rankscope.vocabulary.samples import Event
    >>> said = Event("log.fault", START + 60.5, {"role": "root", "signature": _SIGNATURE,
    ...              "text": "Loss exploded to 1204.0 at step 60!"})
    >>> window = sketch(np.full((2, 60), 0.8), events=[said], now=START + 61)
    >>> for finding in LoggedDivergenceDetector(over=START + 60.5).evaluate(window):
    ...     print(finding.kind, finding.text)
    job.loss_diverged a log says that the loss is lost: Loss exploded to 1204.0 at step 60!

    Fails for words that no table has.

    Reference: signatures.toml, training.loss_exploded.
    """

    name = "logged_divergence"
    kinds = ("job.loss_diverged",)

    def of_end(self, window: JobWindow) -> Sequence[Finding]:
        """Return at most one finding, on the job."""
        lines = [
            one
            for one in own_logs(window)
            if signature_of(one) == _SIGNATURE
            and one.attributes.get("role") == "root"
            and not window.features.stepped_since(one.at)
        ]
        if not lines:
            return []
        first = min(lines, key=lambda one: one.at)
        return [
            report(
                window,
                self.name,
                "job.loss_diverged",
                window.entity,
                onset=first.at,
                seen=(first.at, max(one.at for one in lines)),
                magnitude=float(len(lines)),
                score=2.0,
                signal=curves.LOSS,
                observed=signature_of(first),
                text=f"a log says that the loss is lost: {text_of(first)}",
            )
        ]
