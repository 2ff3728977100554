"""Filesystems that ran full, or can no longer be written."""

import re
from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from ..contract import Detector
from ..findings import report, report_event
from ..tenants import first_logged, guessed, own_logs, says, signature_of, text_of
from ..window import JobWindow, PeriodicReadings
from . import counters, devices

UTILIZATION = "system.filesystem.utilization"
INODES = "system.filesystem.inodes.utilization"
READ_ONLY = "system.filesystem.read_only"

SYSTEM = ("/boot", "/snap", "/sys", "/proc", "/run", "/usr", "/opt/nvidia")
"""Mounts that no job writes to and that are full by nature."""


NO_SPACE = re.compile(
    r"^storage\.no_space\b|no space left on device|\bENOSPC\b|\bEDQUOT\b|disk quota exceeded|"
    r"\bStorageFull\b|\bQuotaExceeded\b|not enough (?:free )?(?:disk )?space",
    re.IGNORECASE,
)
SHOWN_FULL = "storage.full"
"""Signature of a filesystem that a table shows as full: no write need have failed yet."""
NO_WRITES = "storage.read_only"
"""Signature of a write that was refused since the file system is read-only."""
MEMORY = re.compile(
    r"dev/shm\b|shared.memory|shm_open|\bshm\.|torch_\d+|nccl-|posix_fallocate|semlock",
    re.IGNORECASE,
)
"""What a write that finds no room logs; a tmpfs is memory, and another detector's."""


_GUESS = 1.9
"""Score of a line in a wording that no table has."""


class FullDisksDetector(Detector):
    """Name hosts with a filesystem that ran full while somebody was looking, or turned read-only.

    Bytes or inodes in use at `full` or more, and more than the least of the past by `rise`: an
    image that was full all along is no news. From `high` on it counts where the newest `seconds`
    have brought more than twice what is left, and it was never as full before: as much again will
    not fit. A filesystem that could be written and no longer can
    counts too, and so does the error of a write that found no room: it is logged before the next
    reading. Symptoms without an effect yet: the next write of a checkpoint or a log fails, and
    with it the job.

    Parameters
    ----------
    full : share in use from which on the next write is at risk.
    rise : by how much it must have grown within what is held of the past.
    high : share in use from which on the next write is at risk where it fills fast.
    seconds : how far back it fills fast.

    Examples
    --------
    /scratch of the second host fills up.

    >>> from rankscope.detectors.sketch import START, readings, sketch
    >>> used = np.stack((np.full(13, 0.5), np.linspace(0.9, 1.0, 13)))
    >>> window = sketch(np.full((4, 60), 0.8), host_readings={
    ...     "system.filesystem.utilization|/scratch": readings(START + np.arange(0, 61, 5), used)})
    >>> [finding.text for finding in FullDisksDetector().evaluate(window)]
    ['host host-1: /scratch is 100% full']

    Fails where a quota, not the filesystem, is full and no write has failed yet, and cannot see
    whether the job writes there.

    References: statvfs(3). A file system that failed is remounted read-only.
    """

    name = "full_disks"
    kinds = ("host.disk_full", "host.filesystem_read_only")
    cadence_seconds = 5.0

    def __init__(
        self,
        *,
        full: float = 0.985,
        rise: float = 0.005,
        high: float = 0.95,
        seconds: float = 900.0,
    ) -> None:
        self.full = full
        self.rise = rise
        self.high = high
        self.seconds = seconds

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a host: its fullest filesystem, and one that turned read-only."""
        worst: dict[int, Finding] = {}
        for metric, word in ((UTILIZATION, ""), (INODES, "out of inodes, ")):
            for values, name in counters.variants(window.host_readings, metric):
                mount = "|".join(values) or "/"
                if mount.startswith(SYSTEM):
                    continue
                self._full(window, name, f"{mount} is {word}", worst)
        self._logged(window, worst)
        return [*worst.values(), *self._read_only(window)]

    def _full(self, window: JobWindow, name: str, words: str, worst: dict[int, Finding]) -> None:
        held = window.host_readings[name]
        used, _ = held.latest()
        for host in np.flatnonzero((used >= self.high) & (used <= 1.01)).tolist():
            low, limit = _least(held, host), self.full
            if float(used[host]) - low < self.rise:
                continue
            if used[host] < self.full:
                limit = self._fast(held, host)
                if not used[host] >= limit:
                    continue
            known = worst.get(host)
            if known is not None and known.magnitude >= used[host]:
                continue
            first = devices.since(held, host, limit)
            entity = window.host_entity(host)
            worst[host] = report(
                window,
                self.name,
                "host.disk_full",
                entity,
                onset=(first - held.period(), first),
                magnitude=float(used[host]),
                score=2.0 if used[host] < 0.998 else 3.0,
                signal=name.partition("|")[0],
                observed=float(used[host]),
                expected=low,
                text=f"{entity}: {words}{used[host]:.0%} full",
            )

    def _fast(self, held: PeriodicReadings, host: int) -> float:
        """Return the share in use from which on as much as came lately does not fit; inf: never."""
        one = held.of(np.array([host]))
        known = np.isfinite(one.value[0])
        at, value = one.at[0, known], one.value[0, known]
        lately = at >= at.max() - self.seconds
        past = one.history().value[0]
        before = np.concatenate((past[np.isfinite(past)], value[~lately]))
        least = float(value[lately].min())
        limit = max(self.high, (2 + least) / 3)
        return limit if not len(before) or before.max() < limit else np.inf

    def _logged(self, window: JobWindow, worst: dict[int, Finding]) -> None:
        for event in own_logs(window):
            host, text = event.resource.host, text_of(event)
            if host not in window.hosts or says(window, event, MEMORY):
                continue
            index = window.hosts.index(host)
            if event.attributes.get("signature") == SHOWN_FULL:
                shown = report_event(
                    window,
                    self.name,
                    "host.disk_full",
                    window.host_entity(index),
                    event,
                    score=2.0,
                    observed=SHOWN_FULL,
                    text=f"host {host}: {text[-200:]}",
                )
                worst.setdefault(index, shown)
            if not says(window, event, NO_SPACE):
                continue
            found = NO_SPACE.search(text)
            begin, end = (0, 0) if found is None else found.span()
            line = text[text.rfind("\n", 0, begin) + 1 : end + 80].splitlines()[0]
            worst[index] = report_event(
                window,
                self.name,
                "host.disk_full",
                window.host_entity(index),
                event,
                score=_GUESS if guessed(event) else 3.0,
                observed=signature_of(event) if found is None else found[0],
                text=f"host {host}: a write found no room: {line.strip()[-200:]}",
            )

    def _refused(self, window: JobWindow) -> dict[int, Finding]:
        """Return by host the first write that was refused."""
        return {
            host: report_event(
                window,
                self.name,
                "host.filesystem_read_only",
                window.host_entity(host),
                event,
                score=2.5,
                observed=NO_WRITES,
                text=f"host {window.hosts[host]}: a write was refused: "
                f"{str(event.attributes.get('text', '')).strip()[-200:]}",
            )
            for host, event in first_logged(window, NO_WRITES).items()
        }

    def _read_only(self, window: JobWindow) -> list[Finding]:
        findings = self._refused(window)
        for values, name in counters.variants(window.host_readings, READ_ONLY):
            held = window.host_readings[name]
            state, _ = held.latest()
            for host in np.flatnonzero(state == 1).tolist():
                one = held.of(np.array([host]))
                if not (one.value == 0).any() or host in findings:
                    continue
                first = devices.since(held, host, 0.5)
                entity = window.host_entity(host)
                mount = "|".join(values) or "/"
                findings[host] = report(
                    window,
                    self.name,
                    "host.filesystem_read_only",
                    entity,
                    onset=(first - held.period(), first),
                    score=2.5,
                    signal=READ_ONLY,
                    observed=mount,
                    text=f"{entity}: {mount} can no longer be written",
                )
        return list(findings.values())


def _least(held: PeriodicReadings, host: int) -> float:
    """Return the least of all that is held of a host's filesystem, thinned past included."""
    one = held.of(np.array([host]))
    values = np.concatenate((one.value[0], one.history().value[0]))
    values = values[np.isfinite(values)]
    return float(values.min()) if len(values) else np.inf
