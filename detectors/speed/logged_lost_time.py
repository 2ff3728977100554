"""Time that is lost in saves and in waits for data, by what the log of a job that is over shows."""

from collections.abc import Sequence

from ...vocabulary.findings import Finding
from ...vocabulary.log_lines import DATA_WAITS, SAVES_LONG
from .. import compute_time, tenants
from ..ended_jobs import EndedJobDetector
from ..features import DATA
from ..findings import INFORMATION, report
from ..window import JobWindow
from .checkpoints import CHECKPOINT


class LoggedLostTimeDetector(EndedJobDetector):
    """Report saves, or waits for data now and then, that take much of the time that a log shows.

    In no list of detectors: whoever reads the log has judged all of it, and a live job is compared
    with what is usual for it (checkpoints.py, data_wait.py). What only one moment shows is a guess,
    for information.

    Parameters
    ----------
    over : when the job was over, in seconds since the epoch: nothing is said before.

    Examples
    --------
    >>> import numpy as np
    >>> from rankscope.detectors.sketch import START, sketch
    >>> from rankscope.vocabulary.samples import Event
    >>> said = Event("log.fault", START + 60, {"role": "confirmation", "signature": SAVES_LONG,
    ...              "text": "saves take up to 300 s"})
    >>> window = sketch(np.full((1, 60), 0.8), events=[said], now=START + 61)
    >>> for finding in LoggedLostTimeDetector(over=START + 60.5).evaluate(window):
    ...     print(finding.kind, finding.text)
    job.slow saves take up to 300 s
    job.checkpoint_long saves take up to 300 s
    job.checkpoint_lost saves take up to 300 s

    Fails where a log shows a part that is unlike the rest.

    Reference: collector/artefacts/logs/lost_time.py, for what is measured.
    """

    name = "logged_lost_time"
    kinds = (
        "job.slow", "job.checkpoint_long", "job.checkpoint_lost", "job.data_wait", "job.data_lost",
    )  # fmt: skip

    def of_end(self, window: JobWindow) -> Sequence[Finding]:
        """Return the slowness of the job, and what it is lost in."""
        found: list[Finding] = []
        for signature, kinds, signal in (
            (SAVES_LONG, self.kinds[1:3], CHECKPOINT),
            (DATA_WAITS, self.kinds[3:], DATA),
        ):
            lines = tenants.lines_of(window, signature)
            news = INFORMATION if any(map(tenants.guessed, lines[:1])) else 1.0
            found += [
                report(
                    window,
                    self.name,
                    kind,
                    window.entity,
                    onset=lines[0].at,
                    seen=(lines[0].at, lines[-1].at),
                    score=news if kind == "job.slow" else 3.0,
                    signal=compute_time.STEP if kind == "job.slow" else signal,
                    observed=signature,
                    text=tenants.text_of(lines[0]),
                )
                for kind in (("job.slow", *kinds) if lines else ())
            ]
        return found
