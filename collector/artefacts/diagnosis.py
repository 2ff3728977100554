"""A folder of leftovers to one incident document, by the pipeline of the live collector."""

import tempfile
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from typing import Any

from ...detectors.selection import DetectorSelection
from ...formats.otlp import encode
from ...vocabulary.samples import Event, Sample, TelemetryResource
from ..pipeline.pipeline import DetectionPipeline
from ..replay.replay import ReplayRun
from ..settings.collector import CollectorSettings
from .found import ArtefactContents
from .kinds import gather

_PAUSE_SECONDS = 20.0
"""A standstill so long is no pause of normal life, once somebody asks why the job died."""

_LEAST_SECONDS = 2.0
"""A standstill that outlasted the job's own time-out is one, however short that was set."""
_TIMED_OUT = frozenset({"collective.timeout", "gloo.timeout"})

_SEVERITIES = ("critical", "warning", "info")


@dataclass(frozen=True, slots=True)
class FolderDiagnosis:
    """What came of a folder: the gravest incident, the others, and what they rest on."""

    incident: dict[str, Any] | None
    others: list[dict[str, Any]]
    found: ArtefactContents

    def document(self) -> dict[str, Any] | None:
        """Return the incident's document with one key more, `leftovers`: what was read."""
        if self.incident is None:
            return None
        found = self.found
        return self.incident | {
            "leftovers": {
                "read": found.read,
                "unread": found.unread,
                "missing": found.missing,
                "layout": found.layout,
                "lines": [quote.document() for quote in found.quotes],
                "others": [other["summary"] for other in self.others],
            }
        }


def diagnose(
    folder: Path,
    settings: CollectorSettings,
    *,
    job: str,
    warn: Callable[[str], None],
    failed: Callable[[str, Exception], None],
    zone: tzinfo | None = None,
) -> FolderDiagnosis:
    """Read what lies in a folder (or one file) and explain it.

    `zone` is that of times in logs without one, None: the machine's. `warn` gets what was left out,
    `failed` defects that were passed over. Raises RecordingError where nothing in it can be read.
    """
    found = gather(folder, TelemetryResource("", job=job, attempt=0), zone=zone)
    pipeline = DetectionPipeline(
        detectors=_detectors(settings, found), settings=settings.evaluation
    )
    replay = ReplayRun(pipeline=pipeline, warn=warn, failed=failed)
    with tempfile.TemporaryDirectory(prefix="rankscope-diagnose-") as scratch:
        recording = Path(scratch) / "leftovers.jsonl"
        with recording.open("w", encoding="utf-8") as out:
            for line in _lines(found):
                out.write(line + "\n")
        incidents = replay.run(recording)
    incidents.sort(key=lambda one: _SEVERITIES.index(one["severity"]))
    return FolderDiagnosis(incidents[0] if incidents else None, incidents[1:], found)


def _detectors(settings: CollectorSettings, found: ArtefactContents) -> DetectorSelection:
    """Return the detectors of a live collector, which need not wait for a job that is dead."""
    stalls = {"pause": _PAUSE_SECONDS}
    if any(event.attributes.get("signature") in _TIMED_OUT for event in found.events):
        stalls["least"] = _LEAST_SECONDS
    chosen = settings.detectors
    parameters = {name: dict(values) for name, values in chosen.parameters.items()}
    parameters["stalls"] = stalls | parameters.get("stalls", {})
    if found.until is not None:
        parameters["nonfinite"] = {"over_at": found.until} | parameters.get("nonfinite", {})
    return chosen.model_copy(update={"parameters": parameters}).selection()


def _lines(found: ArtefactContents) -> list[str]:
    """Return everything as OTLP JSON lines, a line a second and kind, in order of event time."""
    samples: dict[int, dict[TelemetryResource, list[Sample]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for resource, sample in found.samples:
        samples[int(sample.at)][resource].append(sample)
    events: dict[int, dict[TelemetryResource, list[Event]]] = defaultdict(lambda: defaultdict(list))
    for event in found.events:
        events[int(event.at)][event.resource].append(event)
    lines: list[str] = []
    for second in sorted(samples.keys() | events.keys()):
        if second in samples:
            lines.append(encode.metrics_json(samples[second].items()))
        if second in events:
            lines.append(encode.logs_json(events[second].items()))
    return lines
