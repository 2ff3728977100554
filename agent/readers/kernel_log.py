"""Kernel log: XIDs and SXIDs, OOM kills and known bad lines, reported as they are logged.

A thread of its own waits for lines. A restart of the agent neither repeats nor loses any: the
number of the last record is kept with the boot it belongs to.
"""

import contextlib
import json
import logging
import threading
import time
from collections.abc import Callable, Hashable
from pathlib import Path

from ...formats import kernel_log
from ...formats.kernel_log import DeviceFault, Report, reports
from ...vocabulary.samples import Event, Sample
from .. import boots, kernel_source
from ..devices import DeviceRegister
from ..health import AgentHealth
from ..kernel_source import KernelSource
from ..state import rewrite
from ..storms import StormFolding

_FILE = "kernel_log.json"
_TURN_SECONDS = 1.0
_IDLE_SECONDS = 30.0
"""Between two looks while nothing is logged and no storm is to be summed up: lines wake it."""
_XID = b"NVRM: Xid ("
_TEXTS = 4096
"""Texts whose meaning is remembered: a storm repeats one of them."""

_log = logging.getLogger(__name__)


class KernelLogReader:
    """Reads /dev/kmsg, or what `path` names; `read` returns nothing, events leave by `emit`."""

    name = "kernel_log"

    def __init__(
        self,
        *,
        path: Path,
        emit: Callable[[Event], None],
        health: AgentHealth,
        period: float,
        devices: DeviceRegister | None = None,
        state: Path | None = None,
        lookback_seconds: float = 3600.0,
        boot_id: str | None = None,
        booted_at: float | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.period = period
        self._path = path
        self._emit = emit
        self._health = health
        self._devices = devices or DeviceRegister()
        self._state = state / _FILE if state else None
        self._lookback = lookback_seconds
        self._boot_id = boots.boot_id() if boot_id is None else boot_id
        self._now = now
        self._parser = kernel_log.KernelLogParser()
        self._storms: StormFolding[Hashable] = StormFolding()
        self._texts: dict[bytes, Hashable] = {}
        self._newest: dict[Hashable, Report] = {}
        self._newest_at: dict[Hashable, float] = {}
        self._sequence = self._saved = _sequence(self._state, self._boot_id)
        self._resumed = self._sequence is not None
        self._booted_at = boots.booted_at() if booted_at is None else booted_at
        self._history = True
        self._drained = False
        self._source: KernelSource | None = None
        self._thread: threading.Thread | None = None
        self._stopped = False
        self._error: OSError | None = None

    def supported(self) -> tuple[bool, str]:
        """Return whether the log may be read."""
        try:
            kernel_source.check(self._path)
        except FileNotFoundError:
            return False, f"{self._path} is not here: mount it (full profile)"
        except PermissionError as error:
            self._health.show("source_up", 0, self.name)
            return False, (
                f"{self._path} may not be opened ({error.strerror}): an unprivileged container "
                "cannot, even where it is mounted (device cgroup, CAP_SYSLOG); run the full "
                "profile; until then NVML reports XIDs, and OOM kills are seen as exits"
            )
        except OSError as error:
            self._health.show("source_up", 0, self.name)
            return False, f"{self._path} cannot be opened: {error.strerror}"
        return True, ""

    def read(self, now: float) -> list[Sample]:  # noqa: ARG002  events carry their own time
        """See to it that the thread runs; raises OSError with what ended it."""
        if self._thread is None or not self._thread.is_alive():
            error, self._error = self._error, None
            self._start()
            if error is not None:
                raise error
        self._keep()
        return []

    def close(self) -> None:
        """End the thread."""
        self._stopped = True
        if self._source is not None:
            self._source.wake()
        if self._thread is not None:
            self._thread.join(5.0)
        self._keep()

    def _start(self) -> None:
        self._source = source = KernelSource(self._path)
        self._history = not source.pipe  # what waits in a pipe was never read by anybody
        self._resumed = self._sequence is not None
        self._health.show("source_up", 1, self.name)
        self._thread = threading.Thread(
            target=self._run, args=(source,), name="kernel_log", daemon=True
        )
        self._thread.start()

    def _run(self, source: KernelSource) -> None:
        try:
            while not self._stopped:
                lines = source.batch()
                if lines:
                    self._take(lines)
                else:
                    self._history, self._drained = False, True
                    self._summaries()
                    source.wait(_TURN_SECONDS if self._storms.waiting else _IDLE_SECONDS)
        except OSError as error:
            self._error = error
            self._health.show("source_up", 0, self.name)
            _log.warning("%s: %s; it is opened again", self._path, error)
        finally:
            source.close()

    def _take(self, lines: list[bytes]) -> None:
        """Take a batch. What repeats costs a look into a table, what reports nothing even less."""
        now = self._now()
        texts, relevant, storms = self._texts, kernel_log.relevant, self._storms
        first, self._drained = self._drained, False
        for data in lines:
            head, semicolon, text = data.partition(b";")
            if semicolon and not self._fresh(head):
                continue
            seen = texts.get(text) if semicolon and not self._history else None
            if seen is None and not self._history and text.startswith(_XID):
                seen = texts.get(_head(text))
            fault = self._newest.get(seen) if seen is not None else None
            if fault is not None:
                self._newest_at[seen] = now
                if count := storms.take(seen, now):
                    self._leave(fault, now, count)
            elif relevant(data) and not data.startswith(b" "):
                self._look(data, text, now, first=first)
                first = False
        self._health.count("kernel_log_lines", by=len(lines))
        if storms.waiting:
            self._summaries()

    def _fresh(self, head: bytes) -> bool:
        """Follow the records' numbers; return whether this one was not read before."""
        fields = head.split(b",", 2)
        if len(fields) < 3 or not fields[1].isdigit():
            return True
        sequence, last = int(fields[1]), self._sequence
        if last is not None:
            if self._history and self._resumed and sequence <= last:
                return False
            if sequence > last + 1:
                self._health.count("kernel_log_lost", by=sequence - last - 1)
        self._sequence = sequence
        return True

    def _look(self, data: bytes, text: bytes, now: float, *, first: bool) -> None:
        whole = data.decode("utf-8", "replace")
        found = kernel_log.record(data) or kernel_log.line(whole, near=now)
        at = now if found.at is None else found.at
        if found.uptime is not None and found.at is None:
            if first:  # nothing waited before it: it was logged just now
                self._booted_at = now - found.uptime
            at = min(now, self._booted_at + found.uptime)
        faults = self._parser.feed(found.text, at)
        for one in faults:
            if self._history and not self._resumed and not self._recent(one, at, now):
                continue
            key = reports.key(one)
            if key is None:
                self._leave(one, at, 1)
                continue
            self._make_room()
            self._newest[key], self._newest_at[key] = one, at
            if len(faults) == 1 and found.sequence is not None:
                self._texts[_head(text) if _plain(one, text) else text] = key
            if count := self._storms.take(key, now):
                self._leave(one, at, count)

    def _make_room(self) -> None:
        """Forget texts, and faults that no storm is of, when there are many."""
        if len(self._texts) >= _TEXTS:
            self._texts.clear()
        if len(self._newest) >= _TEXTS:
            self._newest = {key: one for key, one in self._newest.items() if key in self._storms}
            self._newest_at = {key: self._newest_at[key] for key in self._newest}

    def _recent(self, fault: Report, at: float, now: float) -> bool:
        """Return whether a line of before the first start is still of interest."""
        return isinstance(fault, DeviceFault) and at >= now - self._lookback

    def _leave(self, fault: Report, at: float, count: int) -> None:
        self._emit(reports.event(fault, at, by_pci=self._devices.by_pci, count=count))
        self._keep()

    def _summaries(self) -> None:
        now = self._now()
        for key, count in self._storms.due(now):
            fault = self._newest.get(key)
            if fault is not None:
                self._leave(fault, self._newest_at[key], count)

    def _keep(self) -> None:
        """Note how far was read; what cannot be noted is reported again after a restart."""
        if self._state is None or self._sequence is None or self._sequence == self._saved:
            return
        document = json.dumps({"boot_id": self._boot_id, "sequence": self._sequence})
        with contextlib.suppress(OSError):
            rewrite(self._state, document)
            self._saved = self._sequence


def _head(text: bytes) -> bytes:
    """Return the part of an XID's line with its device and code."""
    return text[: text.find(b",") + 1]


def _plain(fault: Report, text: bytes) -> bool:
    """Return whether device and code are all that sets this fault apart from others."""
    plain = isinstance(fault, DeviceFault) and not (fault.fault_class or fault.action)
    return plain and text.startswith(_XID) and b"," in text


def _sequence(state: Path | None, boot_id: str) -> int | None:
    """Return the last record read of this boot, None where none was or it is not known."""
    if state is None or not boot_id:
        return None
    try:
        document = json.loads(state.read_text(encoding="utf-8"))
        return int(document["sequence"]) if document["boot_id"] == boot_id else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
