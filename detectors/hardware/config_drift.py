"""Hosts with a version or setting unlike their peers', and hosts that were changed."""

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ...vocabulary.findings import Finding
from ...vocabulary.samples import Event
from ..contract import Detector
from ..findings import INFORMATION, report, report_event
from ..tenants import first_logged, own_logs, text_of
from ..window import JobWindow
from . import counters

SOFTWARE = "system.software.info"

MOST_NAMED = 3

REFUSED = re.compile(
    r"mismatched nccl version[^\n]{0,40}?rank (\d{1,7}) (?:has|version) (\w[\w.]{0,30}),? "
    r"rank (\d{1,7}) (?:has|version) (\w[\w.]{0,30})",
    re.IGNORECASE,
)
"""NCCL's line: each rank names the first one that is unlike itself."""


DRIVER = "driver.version_mismatch"
"""Signature of a driver whose libraries and kernel module are of two versions."""


class ConfigDriftDetector(Detector):
    """Compare versions and settings over the job's hosts, and report changes of single hosts.

    For each name (driver, kernel, firmware of a board, library, setting) the version that most
    hosts report is usual; hosts that report another one instead differ, where they are a quarter of
    the hosts at most, or one alone, and three hosts or more report the name. Of two hosts that
    differ both are named, weakly. Hosts with several versions of one name (two kinds of cards) are
    compared by the whole set. Where NCCL refuses to start since versions differ, each rank's line
    names a rank unlike itself: the hosts of the version that fewer hosts have are refused, of two
    that as many have the one that is not the lowest rank's. A host whose driver has libraries of
    another version than its kernel module is refused by its own. A `change` event of a host counts
    for `seconds` after it, unless most hosts were changed: that is a roll-out. All of it is
    evidence: hosts that differ mostly work. Where all hosts report a name, and a few have another
    version for `settled` seconds of the attempt, that is information by itself: what it costs may
    be the same for all ranks, as of a port that everybody waits for, and never shows.

    Parameters
    ----------
    rare : share of the hosts that may differ.
    seconds : how long a change counts.
    settled : seconds of an attempt before a host that differs is reported by itself.

    Examples
    --------
    >>> from rankscope.detectors.sketch import START, readings, sketch
    >>> at = START + np.arange(0, 61, 5)
    >>> new, old = np.full((4, 1), 1.0), np.full((4, 1), np.nan)
    >>> new[3], old[3] = np.nan, 1.0
    >>> window = sketch(np.full((8, 60), 0.8), hosts=4, host_readings={
    ...     "system.software.info|nvidia|570.86.15": readings(at, new),
    ...     "system.software.info|nvidia|550.54.15": readings(at, old)})
    >>> for finding in ConfigDriftDetector().evaluate(window):
    ...     print(finding.text)
    host host-3 differs: nvidia 550.54.15 (its peers: 570.86.15)
    host host-3 is the odd one: nvidia 550.54.15 (its peers: 570.86.15)

    Fails where all hosts are of one wrong version, and where nobody reports the setting that
    matters (environment variables of the job are not read).

    References: docs/reference (reader software); MegaScale (NSDI'24) for hosts that differ.
    """

    name = "config_drift"
    kinds = ("host.differs", "host.drift", "host.changed", "host.version_refused")
    cadence_seconds = 10.0

    def __init__(
        self, *, rare: float = 0.25, seconds: float = 1800.0, settled: float = 60.0
    ) -> None:
        self.rare = rare
        self.seconds = seconds
        self.settled = settled

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a host that differs, and one a host that was changed."""
        differences: dict[int, list[str]] = {}
        drifted: dict[int, dict[str, str]] = {}
        for name, versions in self._versions(window).items():
            reported = [host for host, held in enumerate(versions) if held]
            if len(reported) < 3:
                if len(reported) == len(window.hosts) and len(set(versions)) == 2:
                    for host, other in ((0, 1), (1, 0)):
                        text = f"{name} {versions[host]} (the other host: {versions[other]})"
                        differences.setdefault(host, []).append(text)
                continue
            counts: dict[str, int] = {}
            for host in reported:
                counts[versions[host]] = counts.get(versions[host], 0) + 1
            usual = max(sorted(counts), key=lambda version: counts[version])
            odd = [host for host in reported if versions[host] != usual]
            if len(odd) > max(self.rare * len(reported), 1):
                continue
            for host in odd:
                text = f"{name} {versions[host]} (its peers: {usual})"
                differences.setdefault(host, []).append(text)
                if len(reported) == len(window.hosts):
                    drifted.setdefault(host, {})[name] = text
        findings = [
            report(
                window,
                self.name,
                "host.differs",
                window.host_entity(host),
                onset=max(window.attempt_started_at, window.now - self.seconds),
                magnitude=float(len(texts)),
                # Of two hosts either may be the odd one: which, only slow ranks can tell.
                score=1.0 if len(window.hosts) == 2 else 2.0 if len(texts) == 1 else 2.5,
                signal=SOFTWARE,
                observed=texts[0],
                text=f"host {window.hosts[host]} differs: {'; '.join(texts[:MOST_NAMED])}",
            )
            for host, texts in sorted(differences.items())
        ]
        findings += self._drifted(window, drifted)
        return [*findings, *self._refused(window), *self._changes(window)]

    def _drifted(self, window: JobWindow, texts: Mapping[int, Mapping[str, str]]) -> list[Finding]:
        """Return what is worth knowing of hosts that differ, whatever it costs; never a page.

        texts: by host and name. Given time: at a start not all hosts have reported, and a roll-out
        reaches one by one.
        """
        started = max(window.attempt_started_at, window.attempt_reported_at)
        if not texts or window.now - started < self.settled:
            return []
        began = _since(window, texts)
        return [
            report(
                window,
                self.name,
                "host.drift",
                window.host_entity(host),
                onset=began[host],
                magnitude=float(len(held)),
                score=INFORMATION,
                signal=SOFTWARE,
                observed=next(iter(held.values())),
                text=f"host {window.hosts[host]} is the odd one: "
                + "; ".join(list(held.values())[:MOST_NAMED]),
            )
            for host, held in sorted(texts.items())
            if began[host] <= window.now - self.settled
        ]

    def _versions(self, window: JobWindow) -> dict[str, list[str]]:
        """Return by name the version of each host, several as one text, "" where none is known."""
        found: dict[str, list[set[str]]] = {}
        for values, plane in counters.variants(window.host_readings, SOFTWARE):
            if len(values) < 2:
                continue
            value, at = window.host_readings[plane].latest()
            # Reported every minute: what was not for five is gone, as after an update.
            here = np.isfinite(value) & (at >= window.now - 300.0)
            held = found.setdefault(values[0], [set() for _ in window.hosts])
            for host in np.flatnonzero(here).tolist():
                held[host].add("|".join(values[1:]))
        return {
            name: [", ".join(sorted(one)) for one in held] for name, held in sorted(found.items())
        }

    def _refused(self, window: JobWindow) -> list[Finding]:
        return [
            report_event(
                window,
                self.name,
                "host.version_refused",
                window.host_entity(host),
                event,
                observed=text,
                text=f"host {window.hosts[host]} was refused: {text}",
            )
            for host, (event, text) in self._refusals(window).items()
        ]

    def _refusals(self, window: JobWindow) -> dict[int, tuple[Event, str]]:
        """Return by host the line that refused its version, and why."""
        versions: dict[int, str] = {}
        lines: dict[int, Event] = {}
        for event in own_logs(window):
            if not window.searches.found(REFUSED, event, text_of):
                continue
            if found := REFUSED.search(text_of(event)):
                for rank, version in ((int(found[1]), found[2]), (int(found[3]), found[4])):
                    versions[rank] = version
                    lines.setdefault(rank, event)
        hosts: dict[str, dict[int, int]] = {}
        """By version, the hosts that have it, each with a rank of it."""
        for rank in sorted(versions):
            host = window.host_of_rank(rank)
            if host >= 0:
                hosts.setdefault(versions[rank], {}).setdefault(host, rank)
        if len(hosts) < 2:
            return {
                host: (event, text_of(event).strip()[-200:])
                for host, event in first_logged(window, DRIVER).items()
            }
        usual = max(hosts, key=lambda version: len(hosts[version]))
        unlike = {
            host: (lines[rank], f"NCCL {version}, its peers have {usual}")
            for version, held in hosts.items()
            if version != usual
            for host, rank in held.items()
        }
        return dict(sorted(unlike.items()))

    def _changes(self, window: JobWindow) -> list[Finding]:
        found: dict[str, Finding] = {}
        for event in window.named("change"):
            host = event.resource.host
            old = event.at < window.now - self.seconds
            if old or host not in window.hosts:
                continue
            kind, text = str(event.attributes.get("kind", "")), event.attributes.get("text", "")
            if kind == "code":
                continue  # the job's own
            found[host] = report(
                window,
                self.name,
                "host.changed",
                window.topology.host_entity(host),
                onset=event.at,
                score=2.0,
                signal="change",
                observed=kind,
                text=f"host {host} was changed: {kind}: {str(text).strip()[:160]}".rstrip(": "),
            )
        alone = len(window.hosts) > 1 and 2 * len(found) <= len(window.hosts)
        return list(found.values()) if alone else []


def _since(window: JobWindow, names: Mapping[int, Iterable[str]]) -> dict[int, float]:
    """Return by host since when it has reported the newest of its versions of these names."""
    hosts = np.array(sorted(names))
    began: dict[int, dict[str, list[float]]] = {int(host): {} for host in hosts}
    for values, plane in counters.variants(window.host_readings, SOFTWARE):
        if not any(values[0] in held for held in names.values()):
            continue
        readings = window.host_readings[plane].of(hosts)
        first = np.min(np.where(np.isfinite(readings.value), readings.at, np.inf), axis=1)
        for host, at in zip(hosts.tolist(), first.tolist(), strict=True):
            if values[0] in names[host] and np.isfinite(at):
                began[host].setdefault(values[0], []).append(at)
    started = window.attempt_started_at
    return {
        # What it has had for as long as it reported, the attempt has had from its start on.
        host: min(
            max(first) if max(first) > min(first) or not np.isfinite(started) else started
            for first in by_name.values()
        )
        for host, by_name in began.items()
    }
