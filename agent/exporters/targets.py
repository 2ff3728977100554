"""One exporter that is read: whose it is, what its last page held, and how it fails."""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ...formats import exporters, exposition
from ...formats.exporters.devices import ExporterDevice
from ...vocabulary.samples import Event, Sample
from ..health import AgentHealth
from .fetching import FetchError, PageClient

if TYPE_CHECKING:
    from ..settings import ExporterTargetSettings


class SeriesOwnership:
    """For every thread. A claim lasts `lasting` seconds from its last renewal."""

    def __init__(self, *, lasting: float) -> None:
        self._lasting = lasting
        self._lock = threading.Lock()
        self._owners: dict[str, tuple[int, float]] = {}

    def claim(self, hw_id: str, target: int, now: float) -> bool:
        """Return whether a target (its place in the settings) owns a device now."""
        with self._lock:
            owner = self._owners.get(hw_id)
            if owner is None or owner[0] >= target or now - owner[1] > self._lasting:
                self._owners[hw_id] = (target, now)
                return True
            return False


_OURSELVES = "rankscope_agent_info"
_FOREIGN_PAGES = 12
"""Pages without a device until the exporter is looked at anew: another may listen there now."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TargetReading:
    """What a page holds of the devices that this target ownss, timed `at`."""

    at: float
    samples: list[Sample] = field(default_factory=list)


class ExporterTarget:
    """Fetches and maps the pages of one exporter. `fetch` is for its own thread only."""

    def __init__(
        self,
        settings: "ExporterTargetSettings",
        *,
        place: int,
        client: PageClient,
        max_bytes: int,
        ownership: SeriesOwnership,
        native: Callable[[str], bool],
        emit: Callable[[Event], None],
        health: AgentHealth,
        doubled: bool,
    ) -> None:
        self.url = settings.url
        self.source = f"exporter:{_short(settings.url)}"
        self.last: TargetReading | None = None
        self._settings = settings
        self._place = place
        self._client = client
        self._max_bytes = max_bytes
        self._ownership = ownership
        self._native = native
        self._emit = emit
        self._health = health
        self._doubled = doubled
        self._mapping: exporters.PageMapping | None = None
        self._faults: exporters.FaultWatch | None = None
        self._kept: Mapping[str, object] = {}
        self._empty = 0
        self._failing = ""

    def fetch(self, now: float) -> None:
        """Read a page; failures are counted, and logged when they begin and end."""
        try:
            mapped = self._page(now)
        except FetchError as error:
            self._fail(error.reason, str(error))
        except exposition.PageTooLargeError as error:
            self._client.close()
            self._fail("too_large", str(error))
        except exposition.UnreadablePageError as error:
            self._client.close()
            self._fail("not_metrics", str(error))
        else:
            self._take(mapped, now)

    def restore(self, state: Mapping[str, object]) -> None:
        """Take back what was known of faults when the agent ended."""
        self._kept = state

    def state(self) -> Mapping[str, object]:
        """Return what is known of faults, for the next start."""
        return self._kept

    def broken(self) -> None:
        """Count an error of our own."""
        self._fail("internal", "a page could not be taken; see the log")

    def _page(self, now: float) -> exporters.MappedPage:
        if self._mapping is None:
            self._mapping = self._recognised(now)
            table = self._mapping.table
            self._faults = exporters.FaultWatch(table.exporter, table.vendor)
            self._faults.restore(self._kept)
        return self._mapping.read(self._client.pieces(), now=now)

    def _recognised(self, now: float) -> exporters.PageMapping:
        """Read a page for its names only, and choose the table."""
        names: set[str] = set()
        look: exposition.PageReader[None] = exposition.PageReader(
            lambda series: names.add(series.name), max_bytes=self._max_bytes
        )
        look.read(self._client.pieces(), now=now)
        if _OURSELVES in names:
            self._health.show("double_names", 1)
            raise FetchError(
                "ourselves",
                "this is the page of a Rankscope agent; reading it would double every sum. "
                "Write the exporter's own URL, or leave the target out",
            )
        settings = self._settings
        if settings.vendor == "auto":
            table = exporters.detect(names)
            if table is None:
                raise FetchError(
                    "unknown_exporter",
                    "no name on this page is one of a vendor's exporter that is known; set "
                    "vendor and prefix (or table) of the target",
                )
        else:
            table = exporters.load(settings.vendor)
        if settings.prefix is not None:
            table = table.with_prefix(settings.prefix)
        if settings.table is not None:
            table = exporters.overridden(table, settings.table)
        if table.vendor == "nvidia" and self._doubled:
            self._health.show("double_names", 1)
            _log.warning(
                "exporters: %s is a dcgm-exporter, and export.dcgm_names shows the same names: "
                "every sum over both doubles; drop the one or set export.dcgm_names to off",
                self.url,
            )
        _log.info("exporters: %s is read as %s of %s", self.url, table.exporter, table.vendor)
        return exporters.PageMapping(table, max_bytes=self._max_bytes)

    def _take(self, mapped: exporters.MappedPage, now: float) -> None:
        ours: set[ExporterDevice] = set()
        for device in mapped.devices:
            if self._ownership.claim(device.hw_id, self._place, now):
                ours.add(device)
                self._health.happened("device_last_success", now, self.source, device.hw_id)
            else:
                mapped.problems["read_elsewhere"] += 1
        self.last = TargetReading(
            now,
            [
                sample
                for sample, device in zip(mapped.samples, mapped.of, strict=True)
                if device is None or device in ours
            ],
        )
        for problem, times in mapped.problems.items():
            self._health.count("exporter_problems", self.source, problem, by=times)
        self._health.show("exporter_series", mapped.series, self.source)
        self._empty = 0 if mapped.devices else self._empty + 1
        if self._faults is not None:
            for event in self._faults.see(mapped.faults, mapped.devices, at=now):
                hw_id = str(event.attributes["hw.id"])
                # The driver's own library has reported it already, and sooner.
                if any(device.hw_id == hw_id for device in ours) and not self._native(hw_id):
                    self._emit(event)
            self._kept = self._faults.state()
        self._health.show("source_up", 1, self.source)
        if self._failing:
            _log.warning("exporters: %s answers again", self.url)
            self._failing = ""
        if self._empty >= _FOREIGN_PAGES:
            self._mapping, self._faults, self._empty = None, None, 0

    def _fail(self, reason: str, text: str) -> None:
        self._health.show("source_up", 0, self.source)
        self._health.count("exporter_failures", self.source, reason)
        if reason != self._failing:
            _log.warning("exporters: %s: %s", self.url, text)
        self._failing = reason


class TargetThread:
    """A target and its thread, which fetches when it is asked to and never lets anybody wait."""

    def __init__(self, target: ExporterTarget) -> None:
        self.target = target
        self._asked: float | None = None
        self._changed = threading.Condition()
        self._stopped = False
        self._thread: threading.Thread | None = None

    def ask(self, now: float) -> None:
        """Have a page fetched, unless one still is."""
        with self._changed:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="exporter", daemon=True)
                self._thread.start()
            if self._asked is None:
                self._asked = now
                self._changed.notify_all()

    def wait(self, seconds: float) -> bool:
        """Wait for the page that was asked for; return whether it is done."""
        with self._changed:
            return self._changed.wait_for(lambda: self._asked is None, seconds)

    def close(self) -> None:
        """End the thread once it is free."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._stopped or self._asked is not None)
                if self._stopped or self._asked is None:
                    return
                now = self._asked
            try:
                self.target.fetch(now)
            except Exception:  # noqa: BLE001  a page must not cost the thread: counted, tried again
                _log.exception("exporters: %s could not be taken", self.target.url)
                self.target.broken()
            finally:
                with self._changed:
                    self._asked = None
                    self._changed.notify_all()


def _short(url: str) -> str:
    """Return what distinguishes one target from another without a secret in it: URL-host-port."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    path = "" if parts.path in ("", "/", "/metrics") else parts.path
    return f"{parts.hostname}:{port}{path}"
