"""Vendors' exporters: what they show of accelerators, in the vocabulary's terms."""

import json
import logging
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...vocabulary.samples import Event, Sample
from ..health import AgentHealth
from ..latest import PERIODS
from ..state import rewrite

if TYPE_CHECKING:
    from ..exporters.targets import TargetThread
    from ..settings import ExportersSettings

_WAIT_SECONDS = 0.25
"""An exporter on this node answers within; a slower one is shown with the next reading."""
_SAVE_SECONDS = 30.0
_FILE = "exporters.json"

_log = logging.getLogger(__name__)


def _never(_: str) -> bool:
    return False


def _nothing(_: str) -> Collection[str]:
    """Tell that a device is not asked by a reader of ours."""
    return ()


def _nobody(_: object) -> None:
    """Learn nothing."""


class ExporterReader:
    """Asks every target for a page, and hands over what is fresh.

    `native`: whether a device answers a reader of ours as well, which then reports its faults.
    `status_reported`: whether the agent itself reports a device's state: then an exporter's is
    left out, since two states of one device at once are none. `native_metrics` names the metrics
    that a reader of ours has of a device now: an exporter's are left out, since two values of one
    series are none either. `learn` is shown what is new.
    """

    name = "exporters"

    def __init__(
        self,
        *,
        period: float,
        settings: "ExportersSettings",
        emit: Callable[[Event], None],
        health: AgentHealth,
        native: Callable[[str], bool] = _never,
        status_reported: Callable[[str], bool] = _never,
        native_metrics: Callable[[str], Collection[str]] = _nothing,
        learn: Callable[[Sequence[Sample]], None] = _nobody,
        dcgm_names_shown: bool = False,
        state: Path | None = None,
    ) -> None:
        self.period = settings.period_seconds or period
        self._path = state / _FILE if state is not None else None
        self._watches = _watches(
            settings,
            lasting=PERIODS * self.period,
            emit=emit,
            health=health,
            native=native,
            doubled=dcgm_names_shown,
        )
        if self._watches:
            health.show("double_names", 0)
        self._status_reported = status_reported
        self._native_metrics = native_metrics
        self._learn = learn
        self._delivered: dict[str, float] = {}
        self._saved = ""
        self._saved_at = time.monotonic()
        self._restore()

    def supported(self) -> tuple[bool, str]:
        """Return whether there is any target."""
        if self._watches:
            return True, ""
        return False, "no exporter is named; write its URL into exporters.targets"

    def read(self, now: float) -> list[Sample]:
        """Return what targets reported within three periods, as of their own time.

        Nothing when none has reported anything new: what was handed over then grows old by itself.
        """
        for watch in self._watches:
            watch.ask(now)
        until = time.monotonic() + _WAIT_SECONDS
        for watch in self._watches:
            watch.wait(max(0.0, until - time.monotonic()))
        fresh = [
            (watch.target.url, last)
            for watch in self._watches
            if (last := watch.target.last) is not None and now - last.at < PERIODS * self.period
        ]
        if self._path is not None and time.monotonic() - self._saved_at >= _SAVE_SECONDS:
            self._save()
        delivered, self._delivered = self._delivered, {url: last.at for url, last in fresh}
        if all(delivered.get(url) == last.at for url, last in fresh):
            return []
        seen: set[tuple[str, object]] = set()
        samples = []
        for _, last in fresh:
            for sample in last.samples:
                series = (sample.metric, sample.attributes)
                if series not in seen:
                    seen.add(series)
                    samples.append(sample)
        self._learn(samples)
        ours: dict[str, Collection[str]] = {}
        return [sample for sample in samples if not self._contradicts(sample, ours)]

    def _contradicts(self, sample: Sample, ours: dict[str, Collection[str]]) -> bool:
        """Return whether the agent has this from elsewhere; `ours` remembers what it has."""
        hw_id = str(dict(sample.attributes).get("hw.id", ""))
        if hw_id not in ours:
            ours[hw_id] = self._native_metrics(hw_id)
        if sample.metric in ours[hw_id]:
            return True
        return sample.metric == "hw.status" and self._status_reported(hw_id)

    def close(self) -> None:
        """End the threads and keep what is known of faults."""
        for watch in self._watches:
            watch.close()
        if self._path is not None:
            self._save()

    def _restore(self) -> None:
        if self._path is None:
            return
        try:
            kept = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return  # none yet, or broken: faults that stand now are then no news
        for watch in self._watches:
            state = kept.get(watch.target.url) if isinstance(kept, dict) else None
            if isinstance(state, dict):
                watch.target.restore(state)

    def _save(self) -> None:
        self._saved_at = time.monotonic()
        text = json.dumps({watch.target.url: watch.target.state() for watch in self._watches})
        if self._path is None or text == self._saved:
            return
        try:
            rewrite(self._path, text)
        except OSError as error:
            _log.warning("exporters: %s: %s", self._path, error)
        self._saved = text


def _watches(
    settings: "ExportersSettings",
    *,
    lasting: float,
    emit: Callable[[Event], None],
    health: AgentHealth,
    native: Callable[[str], bool],
    doubled: bool,
) -> "list[TargetThread]":
    """Return a thread for each target; most nodes have none, and load no tables of vendors."""
    if not settings.targets:
        return []
    from ..exporters import targets  # noqa: PLC0415
    from ..exporters.fetching import PageClient  # noqa: PLC0415

    ownership = targets.SeriesOwnership(lasting=lasting)
    return [
        targets.TargetThread(
            targets.ExporterTarget(
                target,
                place=place,
                client=PageClient(
                    target.url, timeout=settings.timeout_seconds, ca_file=settings.ca_file
                ),
                max_bytes=settings.max_bytes,
                ownership=ownership,
                native=native,
                emit=emit,
                health=health,
                doubled=doubled,
            )
        )
        for place, target in enumerate(settings.targets)
    ]
