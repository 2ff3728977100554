"""What a device's values show at once: errors that grew, rows to remap, a slowdown that lasts.

Each condition is reported when it begins, never again while it lasts. Normal operation is not
reported: idle clocks, a power cap at full load, corrected errors, application clocks.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ...vocabulary.samples import Attributes

_HARD = ("thermal_hw", "slowdown_hw", "power_brake")
_SUSTAINED_SECONDS = 10.0
_GAP_SECONDS = 3.0
"""Heat comes and goes at the limit: so short a break does not end a slowdown."""
_RECOVERED_SECONDS = 60.0
"""A slowdown is over, and may be reported again, after so long without."""

_LOOKED_AT = ("gpu_ecc", "gpu_row_remap", "gpu_recovery")

Series = tuple[str, Attributes]
Report = Callable[[str, str, float], None]
"""Takes code, text and time of a fault."""


@dataclass(slots=True)
class DeviceConditions:
    """The conditions of one device. Keeps what was reported; for one thread."""

    report: Report
    _counts: dict[str, float] = field(default_factory=dict)
    _flags: dict[str, bool] = field(default_factory=dict)
    _action: str = "none"
    _slow_since: float | None = None
    _slow_reported: bool = False
    _slow_last: float = 0.0

    def take(
        self, subject: str, at: float, names: Sequence[Series], values: Sequence[float]
    ) -> None:
        """Look at one subject's values, measured at `at`."""
        if subject == "gpu_throttling":
            if not any(values):  # the ordinary case, every second
                self._slow(at, set())
                return
            active = {
                _value(pairs, "reason")
                for (_, pairs), value in zip(names, values, strict=True)
                if value
            }
            self._slow(at, active)
            return
        if subject not in _LOOKED_AT:
            return
        for (metric, pairs), value in zip(names, values, strict=True):
            if metric == "hw.errors" and _value(pairs, "error.type") == "uncorrected":
                part = _value(pairs, "hw.part")
                self._grown(part, value, at)
            elif metric == "hw.gpu.row_remap":
                state = _value(pairs, "state")
                self._raised(f"row_remap.{state}", bool(value), at, _REMAP[state])
            elif metric == "hw.gpu.recovery_action":
                action = _value(pairs, "action")
                if action != self._action:
                    self._action = action
                    if action != "none":
                        text = f"the driver asks for {action.replace('_', ' ')}"
                        self.report(f"recovery.{action}", text, at)

    def _grown(self, part: str, count: float, at: float) -> None:
        before, self._counts[part] = self._counts.get(part, 0.0), count
        if count > before:
            text = f"uncorrectable memory errors ({part}): {count:.0f} since the driver was loaded"
            self.report("ecc.uncorrectable", text, at)

    def _raised(self, code: str, raised: bool, at: float, text: str) -> None:  # noqa: FBT001
        before, self._flags[code] = self._flags.get(code, False), raised
        if raised and not before:
            self.report(code, text, at)

    def _slow(self, at: float, reasons: set[str]) -> None:
        hard = [reason for reason in _HARD if reason in reasons]
        if not hard:
            if at - self._slow_last > _GAP_SECONDS:
                self._slow_since = None
            if at - self._slow_last > _RECOVERED_SECONDS:
                self._slow_reported = False
            return
        # Less than before: the clock was set back.
        if self._slow_since is None or not 0 <= at - self._slow_last <= _GAP_SECONDS:
            self._slow_since = at
        self._slow_last = at
        if at - self._slow_since >= _SUSTAINED_SECONDS and not self._slow_reported:
            self._slow_reported = True
            lasted = at - self._slow_since
            self.report(
                "slowdown.sustained",
                f"clocks held down for {lasted:.0f} s: {', '.join(hard)}",
                self._slow_since,
            )


_REMAP: Mapping[str, str] = {
    "pending": "a memory row waits to be remapped: it needs a reset of the GPU",
    "failed": "a memory row could not be remapped: no spare rows left",
}


def _value(pairs: Attributes, name: str) -> str:
    return next((str(value) for key, value in pairs if key == name), "")
