"""A loss that is lost by lines of a log: its script gave up, or it climbs after a resume."""

from collections.abc import Sequence

from ...vocabulary.findings import Finding
from ...vocabulary.log_lines import RESUME_CLIMBS
from .. import curves, tenants
from ..ended_jobs import EndedJobDetector
from ..findings import INFORMATION, report
from ..tenants import own_logs, signature_of, text_of
from ..window import JobWindow

_SIGNATURE = "training.loss_exploded"


class LoggedDivergenceDetector(EndedJobDetector):
    """Report that a script says that its loss has exploded, or that it climbs after a resume.

    In no list of detectors: a live job that goes on shows by its values what became of them. One
    that gives up often does so at its first bad value, which no curve would tell from a spike; no
    step may follow. Rows after a resume were judged where the log was read.

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

    Reference: signatures.toml, training.loss_exploded; collector/artefacts/logs/resumed_losses.py.
    """

    name = "logged_divergence"
    kinds = ("job.loss_diverged", "job.loss_high_after_resume")

    def of_end(self, window: JobWindow) -> Sequence[Finding]:
        """Return at most one finding of each kind, on the job."""
        lost = [
            one
            for one in own_logs(window)
            if signature_of(one) == _SIGNATURE
            and one.attributes.get("role") == "root"
            and not window.features.stepped_since(one.at)
        ]
        climbs = tenants.lines_of(window, RESUME_CLIMBS)
        return [
            report(
                window,
                self.name,
                kind,
                window.entity,
                onset=min(one.at for one in lines),
                seen=(min(one.at for one in lines), max(one.at for one in lines)),
                magnitude=float(len(lines)),
                score=INFORMATION if any(map(tenants.guessed, lines)) else 2.0,
                signal=curves.LOSS,
                observed=signature_of(lines[0]),
                text=words + text_of(min(lines, key=lambda one: one.at)),
            )
            for kind, lines, words in zip(
                self.kinds, (lost, climbs), ("a log says that the loss is lost: ", ""), strict=True
            )
            if lines
        ]
