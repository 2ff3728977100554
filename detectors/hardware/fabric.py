"""The fabric of NVSwitches: devices that the driver says are badly connected to it."""

from collections.abc import Sequence

from ...vocabulary.findings import Finding
from ..contract import Detector
from ..findings import report
from ..window import JobWindow
from . import states

FAULT = "hw.gpu.fabric.fault"


class FabricDetector(Detector):
    """Name devices whose driver reports a fault of their connection to the NVLink fabric.

    Degraded bandwidth, an unhealthy route and a wrong configuration are the driver's own words, and
    need no count of errors. They are a symptom where the device was without, or where nine of ten
    peers of its model are: what all devices of a job have (no partition on a single node, a fabric
    that is not used) is how the cluster is set up.

    Parameters
    ----------
    peers : share of the other devices of a model that must be without one that was always there.

    Examples
    --------
    The route of the device of rank 1 becomes unhealthy at second 40.

    >>> import numpy as np
    >>> from rankscope.detectors.sketch import START, readings, sketch
    >>> at = START + np.arange(0, 61, 5)
    >>> bad = np.zeros((4, 13))
    >>> bad[1, 8:] = 1
    >>> window = sketch(np.full((4, 60), 0.8), rank_readings={
    ...     "hw.gpu.fabric.fault|route_unhealthy": readings(at, bad)})
    >>> (found,) = FabricDetector().evaluate(window)
    >>> found.text, found.onset[0] - START, found.onset[1] - START
    ('gpu GPU-1 on host-0: the driver reports of its NVLink fabric: route unhealthy', 35.0, 40.0)

    Fails where drivers (before R570) or boards do not report it. Cannot see whether the device, the
    switch or its configuration is at fault.

    References: nvmlDeviceGetGpuFabricInfoV and its health mask.
    """

    name = "fabric"
    kinds = ("gpu.fabric_fault",)
    cadence_seconds = 5.0

    def __init__(self, *, peers: float = 0.9) -> None:
        self.peers = peers

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a device."""
        findings = []
        turned = states.turned(window, FAULT, well=0.0, peers=self.peers)
        for entity, reasons, onset in turned:
            words = ", ".join(sorted(reason.replace("_", " ") for reason in reasons))
            findings.append(
                report(
                    window,
                    self.name,
                    "gpu.fabric_fault",
                    entity,
                    onset=onset,
                    magnitude=float(len(reasons)),
                    signal=FAULT,
                    observed=words,
                    expected="none",
                    text=f"{entity}: the driver reports of its NVLink fabric: {words}",
                )
            )
        return findings
