"""A folder of leftovers to one incident document, by the pipeline of the live collector."""

import math
import tempfile
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from typing import Any

from ...detectors.liveness.logged_faults import LoggedFaultsDetector
from ...detectors.selection import DetectorSelection
from ...formats.otlp import encode
from ...vocabulary.faults import UNKNOWN
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
    incidents: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="rankscope-diagnose-") as scratch:
        recording = Path(scratch) / "leftovers.jsonl"
        with recording.open("w", encoding="utf-8") as out:
            for line in _lines(found):
                out.write(line + "\n")
        for over in (None, _newest(found)):
            pipeline = DetectionPipeline(
                detectors=_detectors(settings, found, over), settings=settings.evaluation
            )
            if over is not None:
                pipeline.windows.event_memory_seconds = math.inf
            answers = ReplayRun(pipeline=pipeline, warn=warn, failed=failed).run(recording)
            answers.sort(key=_gravity)
            if not incidents or (answers and _gravity(answers[0]) < _gravity(incidents[0])):
                incidents = answers
            if _answered(incidents) or not any(quote.telling for quote in found.quotes):
                break
    return FolderDiagnosis(incidents[0] if incidents else None, incidents[1:], found)


def _newest(found: ArtefactContents) -> float:
    """Return when the last thing happened that anything tells of."""
    times = [sample.at for _, sample in found.samples]
    return max([*times, *(event.at for event in found.events)], default=0.0)


def _gravity(incident: dict[str, Any]) -> tuple[int, bool]:
    """Return where an incident stands among others: the gravest first, of equals a named one."""
    return _SEVERITIES.index(incident["severity"]), _fault(incident) == UNKNOWN


def _answered(incidents: list[dict[str, Any]]) -> bool:
    """Return whether a cause is named of more than news."""
    return any(one["severity"] != "info" and _fault(one) != UNKNOWN for one in incidents)


def _fault(incident: dict[str, Any]) -> str:
    return str(incident["root_cause"]["hypotheses"][0]["fault"])


def _detectors(
    settings: CollectorSettings, found: ArtefactContents, over: float | None
) -> DetectorSelection:
    """Return the detectors of a live collector, which need not wait for a job that is dead.

    `over`: when it was over; its errors are taken for its end then, which they are where nothing
    else shows one.
    """
    stalls = {"pause": _PAUSE_SECONDS}
    if any(event.attributes.get("signature") in _TIMED_OUT for event in found.events):
        stalls["least"] = _LEAST_SECONDS
    ours: dict[str, dict[str, Any]] = {
        "stalls": stalls,
        "fault_codes": {"unplaced": True},
        "never_started": {"announced": True},
    }
    if over is not None:
        ours["logged_crashes"] = {"over": over}
    chosen = settings.detectors
    parameters = {name: dict(values) for name, values in chosen.parameters.items()}
    for name, values in ours.items():
        parameters[name] = values | parameters.get(name, {})
    selected = chosen.model_copy(update={"parameters": parameters}).selection()
    if over is None:
        return selected
    last = LoggedFaultsDetector(over=over)
    return DetectorSelection((*selected.detectors, last), selected.rules)


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
