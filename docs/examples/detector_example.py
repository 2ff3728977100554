"""A detector, whole: hosts whose shared memory runs full.

`python -m tools.new detector NAME --family FAMILY` copies it to `detectors/FAMILY/`, lists it in
the `__init__.py` there, and adds the row of `detector_example.toml` for its kind of finding to
`vocabulary/findings/`. The conformance suite in `tests/detectors/test_conformance.py` then holds it
to the contract; a test of its own shows what it finds, and what of normal life it leaves alone.
"""

from collections.abc import Sequence

import numpy as np

from rankscope.detectors.contract import Detector
from rankscope.detectors.findings import report
from rankscope.detectors.window import JobWindow
from rankscope.vocabulary.findings import Finding

USAGE = "system.shm.usage"
LIMIT = "system.shm.limit"


class SharedMemory(Detector):
    """Report hosts of a job whose shared memory is nearly used up.

    Dataloader workers hand batches over in shared memory; when it is full they die with a bus
    error. Usage over limit of the newest readings counts; one high reading does not.

    Parameters
    ----------
    least : share of the limit from which on it counts.
    seconds : the newest time range evaluated.

    Examples
    --------
    The second host has used 62 of 64 GiB for a minute.

    >>> from rankscope.detectors.sketch import START, readings, sketch
    >>> at = START + np.arange(0, 61, 5)
    >>> window = sketch(np.full((4, 60), 0.8), host_readings={
    ...     USAGE: readings(at, np.array([[3.0], [62.0]])),
    ...     LIMIT: readings(at, np.array([[64.0], [64.0]]))})
    >>> (full,) = SharedMemory().evaluate(window)
    >>> str(full.entity), full.text
    ('host host-1', 'host host-1 uses 97% of its shared memory')

    Fails where the limit is not reported. Cannot see whose memory it is.

    Source: Linux Documentation/filesystems/tmpfs.
    """

    name = "shared_memory"
    kinds = ("host.shm_full",)
    cadence_seconds = 5.0

    def __init__(self, *, least: float = 0.95, seconds: float = 20.0) -> None:
        self.least = least
        self.seconds = seconds

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a host."""
        usage, limit = window.of_hosts(USAGE), window.of_hosts(LIMIT)
        start = window.now - self.seconds
        with np.errstate(invalid="ignore", divide="ignore"):
            used = usage.mean(start, window.now) / limit.mean(start, window.now)
        return [
            report(
                window,
                self.name,
                "host.shm_full",
                window.host_entity(int(host)),
                onset=(start, window.now),
                magnitude=float(used[host]),
                score=float(used[host] / self.least),
                signal=USAGE,
                observed=float(used[host]),
                expected=self.least,
                text=f"host {window.hosts[host]} uses {used[host]:.0%} of its shared memory",
            )
            for host in np.flatnonzero(np.isfinite(used) & (used >= self.least))
        ]
