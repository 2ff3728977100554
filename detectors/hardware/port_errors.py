"""Ports that count errors: beyond their limits and far beyond their peers."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.device_faults import thresholds
from ...vocabulary.findings import Finding
from ..contract import Detector
from ..findings import report
from ..window import Floats, JobWindow, PeriodicReadings
from . import counters, devices, past, ports
from .link_flaps import DOWNED, ERRORS

RETRAINING = "link_error_recovery"

PHYSICAL = frozenset(
    {
        "symbol_error", RETRAINING, "local_link_integrity_errors", "port_rcv_errors",
        "port_rcv_remote_physical_errors", "excessive_buffer_overrun_errors",
        "local_ack_timeout_err", "req_transport_retries_exceeded", "rnr_nak_retry_err",
        "rx_crc_errors_phy", "rx_symbol_err_phy", "fcs", "efa_no_completion_cmds",
    }
)  # fmt: skip
"""Counters of cable, transceiver and port; discards and out-of-order packets are congestion's."""

COUNTED = PHYSICAL - set(DOWNED)
"""Those whose growth is an error; links that went down are link_flaps.py's."""

TIMEOUTS = {"local_ack_timeout_err": 6.0}
"""So many a minute: a sender stands still for up to seconds at each, and none is usual."""

ELSE_A_MINUTE = 60.0
"""Errors a minute from which on a counter without a limit of its own counts."""

SIGMAS = 3.0
"""Of the errors that a limit allows, by chance so many standard deviations more are counted."""

PAST = 900.0
"""So far back before the range that is looked at its errors may have begun."""


class PortErrorsDetector(Detector):
    """Name ports whose physical error counters grow too fast.

    Growth within the newest `seconds` over the limit that the table of thresholds gives for the
    counter (its degraded grade, else its fatal one) and what chance adds to it, and over ten times
    the median of the other ports of that name: where every port counts, it is how this fabric
    counts. It must have grown in two readings at least, or by ten times the limit. Evidence, since
    a link corrects and repeats; a link that is trained again and again (link_error_recovery) is a
    symptom: nothing passes meanwhile.

    Parameters
    ----------
    seconds : the newest time range evaluated.

    Examples
    --------
    The port of the second host of three counts 400 bad symbols a minute.

    >>> from rankscope.detectors.sketch import START, readings, sketch
    >>> bad = np.zeros((3, 13))
    >>> bad[1] = np.arange(13) * 33
    >>> window = sketch(np.full((6, 60), 0.8), hosts=3, host_readings={
    ...     "hw.network.errors|mlx5_0|symbol_error|1": readings(START + np.arange(0, 61, 5), bad)})
    >>> (errors,) = PortErrorsDetector().evaluate(window)
    >>> errors.kind, errors.text
    ('nic.errors', 'nic host-1/mlx5_0:1: symbol_error grows by 396 a minute, its peers by 0')

    Fails where the driver keeps no such counters, and cannot tell the two ends of a cable apart.

    References: vocabulary/device_faults/infiniband.toml (limits of NVSentinel); InfiniBand
    specification (bit error rate).
    """

    name = "port_errors"
    kinds = ("nic.errors", "nic.retraining")
    cadence_seconds = 5.0

    def __init__(self, *, seconds: float = 300.0) -> None:
        self.seconds = seconds

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a port, of the counter furthest beyond its limit."""
        key = (PortErrorsDetector, *vars(self).values())
        return window.features.once(key, lambda: self._evaluated(window))

    def _evaluated(self, window: JobWindow) -> Sequence[Finding]:
        worst: dict[tuple[str, str], Finding] = {}
        for plane in ports.planes(window, ERRORS, COUNTED):
            grown = counters.growth(plane.readings, self.seconds)
            if not len(grown.rows):
                continue
            limit = per_minute(plane.middle)
            spans = np.maximum(grown.seconds, 60.0)
            rate = np.zeros(len(plane.hosts))
            rate[grown.rows] = grown.total * 60 / spans
            least = beyond_chance(limit, spans)
            # Without the port itself: of two, half of its own errors would count as usual.
            others = np.nan_to_num(devices.median_of_others(rate)[grown.rows])
            for number, row in enumerate(grown.rows.tolist()):
                entity, seen = plane.entity(window, row), float(rate[row])
                usual = float(others[number])
                again = grown.last[number, 1] > grown.first[number, 1] or seen >= 10 * limit
                old = grown.last[number, 1] < window.attempt_started_at
                if entity is None or old or seen < max(least[number], 10 * usual) or not again:
                    continue
                kind = "nic.retraining" if plane.middle == RETRAINING else "nic.errors"
                onset = self._onset(plane.readings, row, grown.first[number], limit)
                finding = report(
                    window,
                    self.name,
                    kind,
                    entity,
                    onset=onset,
                    magnitude=seen,
                    score=float(min(1.5 + np.log10(seen / limit), 3.0)),
                    signal=ERRORS,
                    observed=seen,
                    expected=usual,
                    text=f"{entity}: {plane.middle} grows by {seen:.3g} a minute, its peers by "
                    f"{usual:.2g}",
                )
                held = worst.get((kind, entity.id))
                if held is None or finding.score > held.score:
                    worst[kind, entity.id] = finding
        return [*worst.values(), *self._events(window, worst)]

    def _onset(
        self, readings: PeriodicReadings, row: int, first: Floats, limit: float
    ) -> tuple[float, float]:
        """Return the readings between which a counter's growth beyond its limit began.

        It does not move on with the range that is looked at: what began before a symptom still did.
        """
        start = readings.newest_at() - self.seconds
        if first[0] <= start + past.BLOCK_SECONDS:
            own, end = readings.of(np.array([row])), start + past.BLOCK_SECONDS
            levels = past.blocks(own, end, PAST, counter=True)
            begun, _ = past.began(levels[0], end, self.seconds, limit / 60)
            earlier = counters.growth(own, readings.newest_at() - begun)
            first = earlier.first[0] if len(earlier.rows) else first
        return float(first[0]), float(first[1])

    def _events(self, window: JobWindow, known: dict[tuple[str, str], Finding]) -> list[Finding]:
        """Return what the agent's own limits say, where readings are too rare to show it."""
        found: dict[str, Finding] = {}
        for event in ports.events(window, "network.fault"):
            entity = ports.of_event(window, event)
            code, state = str(event.attributes.get("code", "")), event.attributes.get("state")
            if entity is None or ("nic.errors", entity.id) in known or code not in PHYSICAL:
                continue
            if state == "cleared":
                found.pop(entity.id, None)
                continue
            found.setdefault(
                entity.id,
                report(
                    window,
                    self.name,
                    "nic.errors",
                    entity,
                    onset=event.at,
                    score=2.5 if event.attributes.get("class") == "fatal" else 2.0,
                    signal="network.fault",
                    observed=code,
                    text=f"{entity}: {event.attributes.get('text') or code}",
                ),
            )
        return list(found.values())


def per_minute(counter: str) -> float:
    """Return how many errors a minute of a counter are too many."""
    if counter in TIMEOUTS:
        return TIMEOUTS[counter]
    limits = [
        most * 60 / limit.seconds
        for limit in thresholds.infiniband().get(counter, ())
        if (most := limit.fatal if limit.fatal is not None else limit.degraded) is not None
    ]
    # One that no increment should have is given one a minute: a single one is chance.
    return max(min(limits), 1.0) if limits else ELSE_A_MINUTE


def beyond_chance(limit: float, seconds: Floats) -> Floats:
    """Return how many errors a minute are more than a limit and chance bring, over so many seconds.

    A cable that has as many as it may (two symbols a minute) has more in every second range. Where
    none is allowed one a minute is the limit, and that is beyond chance already.
    """
    if limit <= 1.0:
        return np.full(len(seconds), limit)
    expected = limit * seconds / 60
    most: Floats = (expected + SIGMAS * np.sqrt(expected)) * 60 / seconds
    return most
