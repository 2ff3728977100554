"""What dcgm-exporter counts over time: XIDs and clock events, in a sliding window and in all.

Also the rate of NVLink bytes, for devices whose driver reports only how many there were.
"""

import threading
from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from ...vocabulary.samples import Sample

_BASELINE_SECONDS = 15.0
"""Counts that stand there already when the agent starts are not of its window."""
WINDOW_SECONDS = 300.0
"""dcgm-exporter's own default window (DCGM_EXP_XID_ERRORS_COUNT_WINDOW_SIZE)."""

CLOCK_EVENTS = {
    "idle": "gpu_idle",
    "clocks_setting": "clocks_setting",
    "power_cap": "power_cap",
    "slowdown_hw": "hw_slowdown",
    "sync_boost": "sync_boost",
    "thermal_sw": "sw_thermal",
    "thermal_hw": "hw_thermal",
    "power_brake": "hw_power_brake",
}
"""The vocabulary's reasons in dcgm-exporter's words."""

Counted = tuple[str, str]
"""Device and XID, or device and reason."""


@dataclass(slots=True)
class _LinkBytes:
    """NVLink bytes of one device and direction, as last read."""

    value: float
    at: float
    rate: float | None = None


@dataclass(slots=True)
class _RecentCounts:
    """How often things were, and when of late."""

    totals: dict[Counted, float] = field(default_factory=dict)
    last: dict[Counted, float] = field(default_factory=dict)
    recent: dict[Counted, deque[tuple[float, float]]] = field(
        default_factory=lambda: defaultdict(deque)
    )

    def add(self, key: Counted, by: float, at: float) -> None:
        if by > 0:
            self.recent[key].append((at, by))
            self.forget(key, at)

    def forget(self, key: Counted, now: float) -> None:
        times = self.recent[key]
        while times and times[0][0] <= now - WINDOW_SECONDS:
            times.popleft()


class DcgmObservations:
    """Fed with readings on the main thread, asked by the page."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._xids = _RecentCounts()
        self._clocks = _RecentCounts()
        self._bytes: dict[Counted, _LinkBytes] = {}
        self._began: float | None = None

    def observe(self, samples: Iterable[Sample]) -> None:
        """Take a reading."""
        for sample in samples:
            if self._began is None:
                self._began = sample.at
            if sample.metric == "hw.gpu.throttle":
                self._see_clock(sample)
            elif sample.metric == "hw.gpu.faults":
                self._see_xid(sample)
            elif sample.metric == "hw.gpu.nvlink.io":
                self._see_bytes(sample)

    def window(self, what: str, now: float) -> dict[Counted, float]:
        """Return how often each was within the window: "xid", or readings with a "clock" event."""
        counts = self._xids if what == "xid" else self._clocks
        with self._lock:
            for key in list(counts.recent):
                counts.forget(key, now)
            return {key: sum(by for _, by in times) for key, times in counts.recent.items()}

    def totals(self, what: str) -> dict[Counted, float]:
        """Return how often each was since the agent started: "xids", or begun "clocks" events."""
        counts = self._xids if what == "xids" else self._clocks
        with self._lock:
            return dict(counts.totals)

    def link_rate(self, hw_id: str) -> float | None:
        """Return NVLink bytes a second of a device, both directions, between two readings."""
        with self._lock:
            rates = [
                seen.rate
                for (device, _), seen in self._bytes.items()
                if device == hw_id and seen.rate is not None
            ]
        return sum(rates) if rates else None

    def _see_xid(self, sample: Sample) -> None:
        pairs = dict(sample.attributes)
        code = str(pairs.get("code", ""))
        if not code.isdecimal():  # an SXID, or a fault that is no XID
            return
        key = (str(pairs.get("hw.id")), code)
        with self._lock:
            old = sample.at < (self._began or 0.0) + _BASELINE_SECONDS
            last = self._xids.last.get(key, sample.value if old else 0.0)
            self._xids.last[key] = self._xids.totals[key] = sample.value
            self._xids.add(key, sample.value - last, sample.at)

    def _see_clock(self, sample: Sample) -> None:
        pairs = dict(sample.attributes)
        key = (str(pairs.get("hw.id")), str(pairs.get("reason")))
        with self._lock:
            began = sample.value and not self._clocks.last.get(key)
            self._clocks.last[key] = sample.value
            self._clocks.totals[key] = self._clocks.totals.get(key, 0.0) + bool(began)
            self._clocks.add(key, sample.value, sample.at)

    def _see_bytes(self, sample: Sample) -> None:
        pairs = dict(sample.attributes)
        if "link" in pairs:
            return
        key = (str(pairs.get("hw.id")), str(pairs.get("direction")))
        with self._lock:
            before = self._bytes.get(key)
            now = self._bytes[key] = _LinkBytes(sample.value, sample.at)
            if before and sample.at > before.at and sample.value >= before.value:
                now.rate = (sample.value - before.value) / (sample.at - before.at)
            elif before and sample.at == before.at:
                now.rate = before.rate
