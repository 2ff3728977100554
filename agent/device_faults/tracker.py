"""Device faults of this node: every fault event passes through here and leaves with its meaning."""

import contextlib
import json
import logging
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ...vocabulary import device_faults
from ...vocabulary.device_faults import DeviceFaultCatalogue, FaultKnowledge
from ...vocabulary.samples import Attributes, Event, Sample, Scalar, attributes
from ..devices import DeviceRegister
from ..storms import StormFolding
from . import store
from .counts import FaultCounts
from .fault import FaultReport, NodeDeviceFault, opened
from .leaving import enriched, summary
from .open_fault import OpenFault, reported_class

_PART_SECONDS = 30.0
"""How far apart a fault and its consequences are reported, each with the time of its onset."""
_OPEN = 256
_CLEARED = 64
_CLOCK_SLACK = 0.5
"""The wall time of a line of the kernel log is computed anew at each start, to about this."""
_ANSWERS = frozenset({"hw.temperature", "hw.power", "hw.gpu.utilization", "hw.gpu.memory.usage"})
"""Readings only a device that works can give."""
_RECOVERY = "154"
"""The XID with which the driver asks for the recovery a device needs."""
_NO_RECOVERY = "the driver asks for no recovery any more"
_STATE = {"fatal": "failed", "degraded": "degraded"}

_log = logging.getLogger(__name__)


class FaultTracker:
    """Open and lately cleared faults; for every thread, without one of its own.

    `now` is passed in and is in seconds since the epoch. Only `keep` touches the disk: call it
    from a thread that may wait. `state` None keeps nothing.
    """

    def __init__(
        self,
        *,
        boot_id: str,
        now: float,
        devices: DeviceRegister | None = None,
        knowledge: DeviceFaultCatalogue | None = None,
        state: Path | None = None,
    ) -> None:
        self._lock = threading.RLock()
        self._saving = threading.Lock()
        self._boot_id = boot_id
        self._devices = devices or DeviceRegister()
        self._knowledge = knowledge
        self._state = state
        self._storms: StormFolding[tuple[str, str]] = StormFolding()
        self._changed = False
        self._actions: dict[str, str] = {}
        kept = store.load(state)
        # The driver forgets its last code with a boot, and so do those who alert on it.
        self._counts = FaultCounts(kept.totals, kept.last if kept.boot_id == boot_id else {})
        self._cleared = [one for one in kept.faults if one.status != "open"][-_CLEARED:]
        self._open: dict[tuple[str, str], OpenFault] = {}
        for fault in kept.faults:
            if fault.status == "open":
                restored = OpenFault(fault, restored_until=fault.last_seen + _CLOCK_SLACK)
                self._open[restored.key] = restored
        self._after_boot(now)

    @property
    def _catalogue(self) -> DeviceFaultCatalogue:
        """Return what codes mean; the tables that ship are read for the first fault."""
        return self._knowledge or device_faults.catalogue()

    def take(self, event: Event, now: float) -> Event | None:
        """Take any event; return what is to leave the agent, None for a repeat that was folded.

        A `gpu.fault` leaves with class, action, investigate and count; others leave as they are.
        """
        if event.name != "gpu.fault":
            return event
        with self._lock:
            hw_id = self._identity(str(event.attributes.get("hw.id", "")))
            code = str(event.attributes.get("code", ""))
            source = str(event.attributes.get("source", ""))
            by = _count(event.attributes.get("count"))
            current = self._open.get((hw_id, code))
            if current is not None and source == "kmsg" and event.at <= current.restored_until:
                return None  # read again after a restart: it was reported before
            if current is None:
                known = self._catalogue.find(str(event.attributes.get("vendor", "nvidia")), code)
                if self._is_evidence(known, hw_id, event):
                    return None
                current = self._opened(hw_id, code, known, event, now)
            fault = current.fault
            text = str(event.attributes.get("text", "")) or fault.meaning
            is_known = current.is_known(code, source, text)
            new = current.occurrences.add(source, by, event.at, last=fault.last_seen)
            fault.add(FaultReport(text, source, event.at))
            fault.last_seen = max(fault.last_seen, event.at)
            if is_known:
                return None
            fault.first_seen = min(fault.first_seen, event.at)
            pid = event.attributes.get("pid")
            if isinstance(pid, int):
                fault.pid = pid
            self._changed = True
            if current.amend(self._catalogue.find(fault.vendor, fault.code), event):
                self._storms.forget(current.key)
            leaving = None
            if new:
                fault.count += new
                self._counts.add(hw_id, code, new)
                count = self._storms.take(current.key, now, by=new)
                leaving = enriched(event, fault, count) if count else None
            if code == _RECOVERY and event.attributes.get("action") == "none":
                self._clear_after_reset(hw_id, now)
            return leaving

    def tick(self, now: float) -> list[Event]:
        """Close what was quiet long enough; return summaries of storms. Call it every second."""
        with self._lock:
            self._rename()
            for current in list(self._open.values()):
                if reason := current.quiet_for(self._catalogue, now):
                    self._clear(current, now, reason)
            return [
                summary(self._open[key].fault, now, count)
                for key, count in self._storms.due(now)
                if key in self._open
            ]

    def observe(self, samples: Iterable[Sample], now: float, *, native: bool = True) -> None:
        """Take readings: they show when a device answers again, and that it needs no reset.

        Those of an exporter (not `native`) do not show that a device answers us again.
        """
        with self._lock:
            for sample in samples:
                if sample.metric == "hw.gpu.recovery_action":
                    self._action(dict(sample.attributes), sample.value, now)
                elif self._open and sample.metric in _ANSWERS:
                    self._answered(dict(sample.attributes), sample.at, now, native=native)

    def clear(self, hw_id: str, code: str, now: float) -> int:
        """Close a device's fault because an operator asks (`*`: every one); return how many."""
        with self._lock:
            asked = [
                current
                for current in self._open.values()
                if hw_id in ("*", current.fault.hw_id) and code in ("*", current.fault.code)
            ]
            for current in asked:
                self._clear(current, now, "an operator")
            return len(asked)

    def keep(self, now: float) -> None:
        """Do what operators asked for, and write what changed to the disk; raises OSError."""
        if self._state is None:
            return
        for hw_id, code in store.asked_to_clear(self._state):
            if not self.clear(hw_id, code, now):
                _log.warning("asked to clear %s of %s: no such fault is open", code, hw_id)
        with self._saving:  # one after the other: an older list must not replace a newer
            with self._lock:
                if not self._changed:
                    return
                rows = [one.document() for one in [*self._cleared, *self.open()]]
                counts = self._counts.copy()
                self._changed = False
            totals = [[*key, count] for key, count in counts.totals.items()]
            try:
                store.save(self._state, rows, totals, counts.last, boot_id=self._boot_id)
            except OSError:
                self._changed = True
                raise

    def leave(self) -> None:
        """Keep what the last seconds brought; a disk that takes nothing costs just that."""
        with contextlib.suppress(OSError):
            self.keep(time.time())

    def open(self) -> list[NodeDeviceFault]:
        """Return the open faults, oldest first."""
        with self._lock:
            faults = (current.fault for current in self._open.values())
            return sorted(faults, key=lambda one: one.first_seen)

    def cleared(self) -> list[NodeDeviceFault]:
        """Return the faults cleared lately, oldest first."""
        with self._lock:
            return list(self._cleared)

    def status(self, hw_id: str) -> str:
        """Return ok, degraded or failed: what the open faults make of a device."""
        with self._lock:
            states = {
                _STATE.get(current.fault.fault_class, "ok")
                for current in self._open.values()
                if current.fault.hw_id == hw_id
            }
        return next((state for state in ("failed", "degraded") if state in states), "ok")

    def reports_status(self, hw_id: str) -> bool:
        """Return whether `samples` has a device's state: it is asked natively, or not ok."""
        device = self._devices.get(hw_id)
        return (device is not None and device.native) or self.status(hw_id) != "ok"

    def samples(self, now: float) -> list[Sample]:
        """Return fault counters, last codes and states of devices, for the page and the wire."""
        with self._lock:
            counts = self._counts.copy()
            reported = {one.hw_id for one in self._devices.everyone()}
            reported |= {current.fault.hw_id for current in self._open.values()}
            reported = {hw_id for hw_id in reported if self.reports_status(hw_id)}
        samples = counts.samples(now, self._pairs)
        for hw_id in sorted(reported):
            pairs = self._pairs(hw_id, **{"hw.state": self.status(hw_id)})
            samples.append(Sample("hw.status", 1.0, now, pairs))
        return samples

    def document(self) -> bytes:
        """Return what GET /faults answers: open and lately cleared faults as JSON."""
        with self._lock:
            document: dict[str, Any] = {
                "boot_id": self._boot_id,
                "catalogue": self._catalogue.version,
                "open": [one.document() for one in self.open()],
                "cleared": [one.document() for one in self._cleared],
            }
        return json.dumps(document, indent=1).encode()

    def _is_evidence(self, known: FaultKnowledge, hw_id: str, event: Event) -> bool:
        """Add a report to a fault that is the same with more, where one was just opened."""
        for code in known.part_of:
            current = self._open.get((hw_id, code))
            if current is None or abs(event.at - current.fault.last_seen) > _PART_SECONDS:
                continue
            text = str(event.attributes.get("text", "")) or known.meaning
            current.fault.add(FaultReport(text, str(event.attributes.get("source", "")), event.at))
            self._changed = True
            return True
        return False

    def _opened(
        self, hw_id: str, code: str, known: FaultKnowledge, event: Event, now: float
    ) -> OpenFault:
        fault = opened(
            known,
            hw_id=hw_id,
            code=code,
            fault_class=reported_class(known, event) or known.fault_class,
            at=event.at,
            boot_id=self._boot_id,
        )
        if len(self._open) >= _OPEN:
            oldest = min(self._open.values(), key=lambda one: one.fault.last_seen)
            self._clear(oldest, now, "there were too many to keep")
        current = self._open[hw_id, code] = OpenFault(fault)
        return current

    def _identity(self, hw_id: str) -> str:
        if not hw_id.startswith("pci:"):
            return hw_id
        return self._devices.by_pci(hw_id.removeprefix("pci:")) or hw_id

    def _rename(self) -> None:
        """Call devices by their id that were known by their PCI address only: it is known now."""
        for key, current in list(self._open.items()):
            hw_id = self._identity(key[0])
            if hw_id == key[0]:
                continue
            del self._open[key]
            current.fault.hw_id = hw_id
            self._changed = True
            other = self._open.setdefault(current.key, current)
            if other is not current:
                other.fault.count += current.fault.count
                other.fault.first_seen = min(other.fault.first_seen, current.fault.first_seen)
        self._counts.rename(self._identity)

    def _pairs(self, hw_id: str, **more: str) -> Attributes:
        device = self._devices.get(hw_id)
        named = {"gpu": device.index, "hw.vendor": device.vendor or None} if device else {}
        return attributes({"hw.id": hw_id, **named, **more})

    def _action(self, pairs: dict[str, Scalar], value: float, now: float) -> None:
        if not value:
            return
        hw_id, action = str(pairs.get("hw.id", "")), str(pairs.get("action", ""))
        before = self._actions.get(hw_id, "none")
        self._actions[hw_id] = action
        if action == "none" and before != "none":
            self._clear_after_reset(hw_id, now)

    def _answered(self, pairs: dict[str, Scalar], at: float, now: float, *, native: bool) -> None:
        # A device that was lost before it gave its name is known by its index until it does.
        names = (pairs.get("hw.id"), f"index-{pairs.get('gpu')}")
        for current in list(self._open.values()):
            current.fault.last_seen = min(current.fault.last_seen, now)  # the clock was set back
            if current.fault.hw_id in names and current.answered_by(at, native=native):
                self._clear(current, now, "the device answers again")

    def _clear_after_reset(self, hw_id: str, now: float) -> None:
        for current in list(self._open.values()):
            if current.fault.hw_id == hw_id and current.fault.cleared_by == "gpu_reset":
                self._clear(current, now, _NO_RECOVERY)

    def _after_boot(self, now: float) -> None:
        for current in list(self._open.values()):
            fault = current.fault
            if fault.boot_id != self._boot_id and fault.cleared_by != "operator":
                self._clear(current, now, "a reboot")

    def _clear(self, current: OpenFault, now: float, how: str) -> None:
        current.fault.clear(now, how)
        self._open.pop(current.key, None)
        self._storms.forget(current.key)  # the next one is reported at once
        self._cleared = [*self._cleared, current.fault][-_CLEARED:]
        self._changed = True
        _log.info("fault %s of %s is over: %s", current.fault.code, current.fault.hw_id, how)


def _count(value: Scalar | None) -> int:
    return max(1, value) if isinstance(value, int) else 1
