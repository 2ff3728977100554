"""New faults out of an exporter's gauges and counters: each is reported once.

Exporters show faults as state, not as events: the last code stays for weeks, a count stands where
it stood. What was there when we first looked is therefore no news, unless the vendor states that it
is wrong now (`present`). `state` keeps what was known from one start of the agent to the next.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ...vocabulary.samples import Event
from .. import fault_reports
from .binding import FaultBinding
from .devices import ExporterDevice

_GONE_PAGES = 2
"""Pages without a code until it counts as over: one may be cut short."""
_STANDING = ("last", "present")
_MOST = 512
"""Codes remembered of one exporter."""

Key = tuple[str, str]


@dataclass(slots=True)
class _StandingFaults:
    register: str
    missing: int = 0


@dataclass(slots=True)
class FaultWatch:
    """The faults of one exporter. Not for two threads at once."""

    exporter: str
    vendor: str
    _counts: dict[Key, float] = field(default_factory=dict)
    _standing: dict[Key, _StandingFaults] = field(default_factory=dict)
    _reports: fault_reports.FaultReports = field(
        default_factory=lambda: fault_reports.FaultReports(_MOST)
    )
    _started: set[str] = field(default_factory=set)

    def see(
        self,
        readings: Iterable[tuple[FaultBinding, float]],
        devices: Sequence[ExporterDevice],
        *,
        at: float,
    ) -> list[Event]:
        """Take the faults of a page; return the new faults.

        `devices` are those on the page: a code is over when its device is there without it.
        """
        found: list[tuple[ExporterDevice, str, str, int]] = []
        standing: dict[Key, str] = {}
        for binding, value in readings:
            hw_id, code = binding.device.hw_id, binding.spelled(value)
            key = (hw_id, code)
            if binding.kind in _STANDING:
                if value == 0:
                    continue
                register = f"{binding.kind}:{binding.prefix}"
                standing[key] = register
                if key not in self._standing and len(self._standing) < _MOST:
                    self._standing[key] = _StandingFaults(register)
                    if binding.kind == "present" or hw_id in self._started:
                        found.append((binding.device, code, binding.kind, 1))
            elif (counted := (hw_id, f"{binding.kind}:{code}")) in self._counts or (
                len(self._counts) < _MOST
            ):
                before = self._counts.get(counted)
                self._counts[counted] = value
                more = fault_reports.increase(value, before, binding.kind)
                if more > 0 and (before is not None or hw_id in self._started):
                    found.append((binding.device, code, binding.kind, more))
        self._forget(standing, {device.hw_id for device in devices})
        self._started.update(device.hw_id for device in devices)
        return [event for one in found if (event := self._event(*one, at)) is not None]

    def _forget(self, standing: Mapping[Key, str], present: set[str]) -> None:
        """Forget codes that are over: their device has none of them, or another last one."""
        replaced = {
            (hw_id, register)
            for (hw_id, _), register in standing.items()
            if register.startswith("last:")
        }
        for key, known in list(self._standing.items()):
            if key in standing:
                known.missing = 0
            elif key[0] in present:
                known.missing += 1
                if known.missing >= _GONE_PAGES or (key[0], known.register) in replaced:
                    del self._standing[key]

    def _event(
        self, device: ExporterDevice, code: str, kind: str, count: int, at: float
    ) -> Event | None:
        if not self._reports.note(device.hw_id, code, kind, at):
            return None
        return fault_reports.event(
            at,
            hw_id=device.hw_id,
            gpu=device.index,
            code=code,
            vendor=self.vendor,
            exporter=self.exporter,
            count=count,
        )

    def state(self) -> dict[str, object]:
        """Return what must outlive the agent, as JSON has it."""
        return {
            "counts": [[*key, value] for key, value in self._counts.items()],
            "standing": [[*key, known.register] for key, known in self._standing.items()],
            "devices": sorted(self._started),
        }

    def restore(self, state: Mapping[str, object]) -> None:
        """Take back what `state` gave; anything that does not fit is left out."""
        for entry in _entries(state.get("counts")):
            if isinstance(entry[2], int | float):
                self._counts[str(entry[0]), str(entry[1])] = float(entry[2])
        for entry in _entries(state.get("standing")):
            self._standing[str(entry[0]), str(entry[1])] = _StandingFaults(str(entry[2]))
        devices = state.get("devices")
        if isinstance(devices, list):
            self._started.update(map(str, devices))


def _entries(reported: object) -> Iterable[list[object]]:
    if isinstance(reported, list):
        yield from (entry for entry in reported if isinstance(entry, list) and len(entry) == 3)
