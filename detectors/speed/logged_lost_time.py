"""Time lost in saves, compilers, waits for data, by what the log of a job that is over shows."""

from collections.abc import Sequence

from ...vocabulary.findings import Finding
from ...vocabulary.log_lines import COMPILES_OFTEN, DATA_WAITS, DEVICES_IDLE, SAVES_LONG
from .. import compute_time, tenants
from ..ended_jobs import EndedJobDetector
from ..features import DATA
from ..findings import INFORMATION, report
from ..window import JobWindow
from .checkpoints import CHECKPOINT

_SAID = (
    (SAVES_LONG, ("job.slow", "job.checkpoint_long", "job.checkpoint_lost"), CHECKPOINT),
    (DATA_WAITS, ("job.slow", "job.data_wait", "job.data_lost"), DATA),
    (COMPILES_OFTEN, ("job.slow", "job.recompiles"), compute_time.STEP),
    (DEVICES_IDLE, ("job.low_utilization",), "hw.gpu.utilization"),
)
"""What stands for much lost time, the kinds of findings that it is, and the signal of the last."""


class LoggedLostTimeDetector(EndedJobDetector):
    """Report what takes much of the time that a log shows: saves, compilers, waits for data.

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

    Reference: collector/artefacts/logs/lost_time.py and profiles.py, for what is measured.
    """

    name = "logged_lost_time"
    kinds = tuple(dict.fromkeys(kind for _, kinds, _ in _SAID for kind in kinds))

    def of_end(self, window: JobWindow) -> Sequence[Finding]:
        """Return the slowness of the job, and what it is lost in."""
        found: list[Finding] = []
        for signature, kinds, signal in _SAID:
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
                for kind in (kinds if lines else ())
            ]
        return found
