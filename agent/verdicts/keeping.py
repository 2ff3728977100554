"""Verdicts of this node: every fault event passes through here, and learns what it means."""

import contextlib
import json
import logging
import math
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...vocabulary import device_faults
from ...vocabulary.device_faults import CLASSES, Catalogue, FaultKnowledge
from ...vocabulary.samples import Event, Sample, Scalar, attributes
from ..devices import Devices
from ..storms import Storms
from . import store
from .tellings import Tellings
from .verdict import Evidence, Verdict, opened

_AGAIN_SECONDS = 2.0
"""A reading this much younger than a loss was taken after it."""
_PART_SECONDS = 30.0
"""How far apart a fault and its consequences are reported, each with the time of its onset."""
_OPEN = 256
_CLEARED = 64
_TOTALS = 512
_CLOCK_SLACK = 0.5
"""The wall time of a line of the kernel log is reckoned anew at each start, to about this."""
_ANSWERS = frozenset({"hw.temperature", "hw.power", "hw.gpu.utilization", "hw.gpu.memory.usage"})
"""Readings only a device that works can give."""
_LOOKERS = frozenset({"nvml", "pci"})
"""Sources that look at a device: they find what is wrong with it again at each start."""
_RECOVERY = "154"
"""The XID with which the driver says which recovery a device needs."""
_NO_RECOVERY = "the driver asks for no recovery any more"
_STATE = {"fatal": "failed", "degraded": "degraded"}

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Case:
    """An open verdict, and who told it lately."""

    verdict: Verdict
    tellings: Tellings = field(default_factory=Tellings)
    restored_until: float = -math.inf

    @property
    def restored(self) -> bool:
        """Tell whether it was open when the agent started."""
        return self.restored_until > -math.inf

    def stands(self, code: str, source: str, text: str) -> bool:
        """Tell whether a telling is of a state that the agent knew before it started anew.

        An XID happens; a lost device, a row to be remapped or a number of errors is found again by
        every agent that starts. What a number of errors says is in its text.
        """
        if not self.restored or source not in _LOOKERS or code.isdecimal():
            return False
        told = ((one.text, one.source) for one in self.verdict.evidence)
        return code.startswith(("nvml.", "pci.")) or (text, source) in told


class Verdicts:
    """Open and lately cleared faults; for every thread, without one of its own.

    `now` is passed in and is in seconds since the epoch. Only `keep` touches the disk: call it
    from a thread that may wait. `state` None keeps nothing.
    """

    def __init__(
        self,
        *,
        boot_id: str,
        now: float,
        devices: Devices | None = None,
        knowledge: Catalogue | None = None,
        state: Path | None = None,
    ) -> None:
        self._lock = threading.RLock()
        self._saving = threading.Lock()
        self._boot_id = boot_id
        self._devices = devices or Devices()
        self._knowledge = knowledge or device_faults.catalogue()
        self._state = state
        self._storms: Storms[tuple[str, str]] = Storms()
        self._changed = False
        self._actions: dict[str, str] = {}
        kept = store.load(state)
        self._totals = kept.totals
        # The driver forgets its last code with a boot, and so do those who alert on it.
        self._last = kept.last if kept.boot_id == boot_id else {}
        self._cleared = [one for one in kept.verdicts if one.status != "open"][-_CLEARED:]
        self._cases: dict[tuple[str, str], _Case] = {}
        for verdict in kept.verdicts:
            if verdict.status == "open":
                key = (verdict.hw_id, verdict.code)
                self._cases[key] = _Case(verdict, restored_until=verdict.last_seen + _CLOCK_SLACK)
        self._after_boot(now)

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
            key = (hw_id, code)
            case = self._cases.get(key)
            if case is not None and source == "kmsg" and event.at <= case.restored_until:
                return None  # read again after a restart: it was told before
            if case is None:
                known = self._knowledge.find(str(event.attributes.get("vendor", "nvidia")), code)
                if self._is_evidence(known, hw_id, event):
                    return None
                case = self._open(key, known, event, now)
            verdict = case.verdict
            text = str(event.attributes.get("text", "")) or verdict.meaning
            stands = case.stands(code, source, text)
            fresh = case.tellings.add(source, by, event.at, last=verdict.last_seen)
            verdict.add(Evidence(text, source, event.at))
            verdict.last_seen = max(verdict.last_seen, event.at)
            if stands:
                return None
            verdict.first_seen = min(verdict.first_seen, event.at)
            pid = event.attributes.get("pid")
            if isinstance(pid, int):
                verdict.pid = pid
            self._changed = True
            if self._amend(verdict, event):
                self._storms.forget(key)
            leaving = None
            if fresh:
                verdict.count += fresh
                self._total(key, fresh)
                told = self._storms.take(key, now, by=fresh)
                leaving = self._enriched(event, case, told) if told else None
            if code == _RECOVERY and event.attributes.get("action") == "none":
                self._clear_after_reset(hw_id, now, _NO_RECOVERY)
            return leaving

    def tick(self, now: float) -> list[Event]:
        """Close what was quiet long enough; return summaries of storms. Call it every second."""
        with self._lock:
            self._name()
            for case in list(self._cases.values()):
                rule = self._knowledge.find(case.verdict.vendor, case.verdict.code).cleared_by
                if rule.kind == "quiet" and now - case.verdict.last_seen >= rule.seconds:
                    self._clear(case, now, f"{rule.seconds / 60:g} quiet minutes")
            told = []
            for key, count in self._storms.due(now):
                stormy = self._cases.get(key)
                if stormy is None:
                    continue
                verdict = stormy.verdict
                pairs: dict[str, Scalar] = {
                    "hw.id": verdict.hw_id,
                    "code": verdict.code,
                    "vendor": verdict.vendor,
                    "text": verdict.evidence[-1].text if verdict.evidence else verdict.meaning,
                    "source": verdict.evidence[-1].source if verdict.evidence else "",
                }
                if verdict.pid is not None:
                    pairs["pid"] = verdict.pid
                at = min(now, verdict.last_seen)
                told.append(self._enriched(Event("gpu.fault", at, pairs), stormy, count))
            return told

    def observe(self, samples: Iterable[Sample], now: float, *, native: bool = True) -> None:
        """Take readings: they tell when a device answers again, and that it needs no reset.

        Those of an exporter (not `native`) do not tell that a device answers us again: an exporter
        shows what it last had while the driver hangs.
        """
        with self._lock:
            for sample in samples:
                if sample.metric == "hw.gpu.recovery_action":
                    self._action(dict(sample.attributes), sample.value, now)
                elif self._cases and sample.metric in _ANSWERS:
                    self._answered(dict(sample.attributes), sample.at, now, native=native)

    def was_reset(self, hw_id: str, now: float) -> None:
        """Close what a reset of the device heals: it was reset and is there again."""
        with self._lock:
            self._clear_after_reset(hw_id, now, "the device was reset")

    def clear(self, hw_id: str, code: str, now: float) -> int:
        """Close a device's fault on an operator's word (`*`: every one); return how many."""
        with self._lock:
            asked = [
                case
                for case in self._cases.values()
                if hw_id in ("*", case.verdict.hw_id) and code in ("*", case.verdict.code)
            ]
            for case in asked:
                self._clear(case, now, "an operator")
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
                totals = [[*key, count] for key, count in self._totals.items()]
                last = dict(self._last)
                self._changed = False
            try:
                store.save(self._state, rows, totals, last, boot_id=self._boot_id)
            except OSError:
                self._changed = True
                raise

    def leave(self) -> None:
        """Keep what the last seconds brought; a disk that takes nothing costs just that."""
        with contextlib.suppress(OSError):
            self.keep(time.time())

    def open(self) -> list[Verdict]:
        """Return the open verdicts, oldest first."""
        with self._lock:
            return sorted(
                (case.verdict for case in self._cases.values()), key=lambda one: one.first_seen
            )

    def cleared(self) -> list[Verdict]:
        """Return the verdicts cleared lately, oldest first."""
        with self._lock:
            return list(self._cleared)

    def status(self, hw_id: str) -> str:
        """Return ok, degraded or failed: what the open verdicts say of a device."""
        with self._lock:
            states = {
                _STATE.get(case.verdict.fault_class, "ok")
                for case in self._cases.values()
                if case.verdict.hw_id == hw_id
            }
        return next((state for state in ("failed", "degraded") if state in states), "ok")

    def judges(self, hw_id: str) -> bool:
        """Tell whether `samples` says a device's state: it is asked natively, or not ok."""
        device = self._devices.get(hw_id)
        return (device is not None and device.native) or self.status(hw_id) != "ok"

    def samples(self, now: float) -> list[Sample]:
        """Return fault counters, last codes and states of devices, for the page and the wire."""
        with self._lock:
            totals, last = dict(self._totals), dict(self._last)
            judged = {one.hw_id for one in self._devices.everyone()}
            judged |= {case.verdict.hw_id for case in self._cases.values()}
            judged = {hw_id for hw_id in judged if self.judges(hw_id)}
        told = [
            Sample("hw.gpu.faults", float(count), now, self._pairs(hw_id, code=code))
            for (hw_id, code), count in totals.items()
        ]
        for hw_id, code in last.items():
            number = code.rpartition(".")[2]
            if number.isdigit():
                told.append(Sample("hw.gpu.fault.last", float(number), now, self._pairs(hw_id)))
        for hw_id in sorted(judged):
            pairs = self._pairs(hw_id, **{"hw.state": self.status(hw_id)})
            told.append(Sample("hw.status", 1.0, now, pairs))
        return told

    def document(self) -> bytes:
        """Return what GET /faults answers: open and lately cleared verdicts as JSON."""
        with self._lock:
            told: dict[str, Any] = {
                "boot_id": self._boot_id,
                "catalogue": self._knowledge.version,
                "open": [one.document() for one in self.open()],
                "cleared": [one.document() for one in self._cleared],
            }
        return json.dumps(told, indent=1).encode()

    def _is_evidence(self, known: FaultKnowledge, hw_id: str, event: Event) -> bool:
        """Add a telling to a verdict that says the same with more, where one was just opened."""
        for code in known.part_of:
            case = self._cases.get((hw_id, code))
            if case is not None and abs(event.at - case.verdict.last_seen) <= _PART_SECONDS:
                text = str(event.attributes.get("text", "")) or known.meaning
                source = str(event.attributes.get("source", ""))
                case.verdict.add(Evidence(text, source, event.at))
                self._changed = True
                return True
        return False

    def _open(self, key: tuple[str, str], known: FaultKnowledge, event: Event, now: float) -> _Case:
        verdict = opened(
            known,
            hw_id=key[0],
            code=key[1],
            fault_class=_said(known, event) or known.fault_class,
            at=event.at,
            boot_id=self._boot_id,
        )
        if len(self._cases) >= _OPEN:
            oldest = min(self._cases.values(), key=lambda one: one.verdict.last_seen)
            self._clear(oldest, now, "there were too many to keep")
        case = self._cases[key] = _Case(verdict)
        return case

    def _amend(self, verdict: Verdict, event: Event) -> bool:
        """Take what this telling says beyond the ones before; tell whether that is news."""
        known = self._knowledge.find(verdict.vendor, verdict.code)
        action = str(event.attributes.get("action", ""))
        asks = known.line_decides or not known.immediate
        other = bool(action) and asks and action != verdict.immediate
        if other:
            verdict.immediate = action
        said = _said(known, event)
        graver = said != "" and _graver(said, verdict.fault_class)
        if graver:
            verdict.fault_class = said
        return other or graver

    def _enriched(self, event: Event, case: _Case, count: int) -> Event:
        verdict = case.verdict
        pairs: dict[str, Scalar] = {**event.attributes, "hw.id": verdict.hw_id}
        pairs.update({"vendor": verdict.vendor, "class": verdict.fault_class, "count": count})
        if verdict.immediate:
            pairs["action"] = verdict.immediate
        if verdict.investigate:
            pairs["investigate"] = verdict.investigate
        if not pairs.get("text"):
            pairs["text"] = verdict.meaning
        return Event(event.name, event.at, pairs, event.resource)

    def _identity(self, hw_id: str) -> str:
        if not hw_id.startswith("pci:"):
            return hw_id
        return self._devices.by_pci(hw_id.removeprefix("pci:")) or hw_id

    def _name(self) -> None:
        """Call devices by their id that were known by their PCI address only: it is known now."""
        for key, case in list(self._cases.items()):
            hw_id = self._identity(key[0])
            if hw_id == key[0]:
                continue
            del self._cases[key]
            case.verdict.hw_id = hw_id
            self._changed = True
            known = self._cases.setdefault((hw_id, key[1]), case)
            if known is not case:
                known.verdict.count += case.verdict.count
                known.verdict.first_seen = min(known.verdict.first_seen, case.verdict.first_seen)
        for old in [one for one in self._totals if self._identity(one[0]) != one[0]]:
            new = (self._identity(old[0]), old[1])
            self._totals[new] = self._totals.get(new, 0) + self._totals.pop(old)
        for address in [one for one in self._last if self._identity(one) != one]:
            code = self._last.pop(address)
            self._last.setdefault(self._identity(address), code)

    def _pairs(self, hw_id: str, **more: str) -> tuple[tuple[str, Scalar], ...]:
        device = self._devices.get(hw_id)
        place = {"gpu": device.index, "hw.vendor": device.vendor or None} if device else {}
        return attributes({"hw.id": hw_id, **place, **more})

    def _total(self, key: tuple[str, str], by: int) -> None:
        if key not in self._totals and len(self._totals) >= _TOTALS:
            return  # more codes than a node can have: a series that nobody could read
        self._totals[key] = self._totals.get(key, 0) + by
        self._last[key[0]] = key[1]

    def _action(self, pairs: dict[str, Scalar], value: float, now: float) -> None:
        if not value:
            return
        hw_id, action = str(pairs.get("hw.id", "")), str(pairs.get("action", ""))
        before = self._actions.get(hw_id, "none")
        self._actions[hw_id] = action
        if action == "none" and before != "none":
            self._clear_after_reset(hw_id, now, _NO_RECOVERY)

    def _answered(self, pairs: dict[str, Scalar], at: float, now: float, *, native: bool) -> None:
        # A device that was lost before it told its name is known by its index until it does.
        names = (pairs.get("hw.id"), f"index-{pairs.get('gpu')}")
        for case in list(self._cases.values()):
            verdict = case.verdict
            waits = verdict.hw_id in names and verdict.cleared_by == "answer"
            verdict.last_seen = min(verdict.last_seen, now)  # the clock was set back
            if not native and any(one.source in _LOOKERS for one in verdict.evidence):
                continue
            if waits and at > verdict.last_seen + _AGAIN_SECONDS:
                self._clear(case, now, "the device answers again")

    def _clear_after_reset(self, hw_id: str, now: float, how: str) -> None:
        for case in list(self._cases.values()):
            if case.verdict.hw_id == hw_id and case.verdict.cleared_by == "gpu_reset":
                self._clear(case, now, how)

    def _after_boot(self, now: float) -> None:
        for case in list(self._cases.values()):
            verdict = case.verdict
            if verdict.boot_id != self._boot_id and verdict.cleared_by != "operator":
                self._clear(case, now, "a reboot")

    def _clear(self, case: _Case, now: float, how: str) -> None:
        verdict = case.verdict
        verdict.clear(now, how)
        self._cases.pop((verdict.hw_id, verdict.code), None)
        self._storms.forget((verdict.hw_id, verdict.code))  # the next one is news
        self._cleared = [*self._cleared, verdict][-_CLEARED:]
        self._changed = True
        _log.info("fault %s of %s is over: %s", verdict.code, verdict.hw_id, how)


def _said(known: FaultKnowledge, event: Event) -> str:
    """Return the class the telling itself names, where the table lets it; else ""."""
    said = str(event.attributes.get("class", ""))
    return said if said in CLASSES and (known.line_decides or not known.known) else ""


def _graver(one: str, other: str) -> bool:
    places: Sequence[str] = CLASSES
    return places.index(one) < places.index(other)


def _count(value: Scalar | None) -> int:
    return max(1, value) if isinstance(value, int) else 1
