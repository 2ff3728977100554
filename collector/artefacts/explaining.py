"""What was found to incidents, by the pipeline of the live collector as if it had been received."""

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...detectors import catalogue
from ...detectors.contract import Detector
from ...detectors.hardware.occupied_devices import OccupiedDevicesDetector
from ...detectors.liveness.logged_faults import LoggedFaultsDetector
from ...detectors.memory.logged_growth import LoggedGrowthDetector
from ...detectors.numbers.logged_divergence import LoggedDivergenceDetector
from ...detectors.numbers.loss_clip import LossClipDetector
from ...detectors.numbers.never_fell import NeverFellDetector
from ...detectors.numbers.rising import RisingLossDetector
from ...detectors.selection import DetectorSelection, SelectionRule
from ...detectors.speed.logged_lost_time import LoggedLostTimeDetector
from ...detectors.speed.throughput import ThroughputDetector
from ...vocabulary.faults import UNKNOWN
from ...vocabulary.log_lines import OPEN_END
from ...vocabulary.samples import Event, TelemetryResource
from ..intake.payloads import DecodedPayload
from ..pipeline.pipeline import DetectionPipeline
from ..replay.replay import ReplayRun
from . import timed_payloads
from .found import ArtefactContents
from .timed_payloads import EvaluationPace

if TYPE_CHECKING:
    from ..settings.collector import CollectorSettings

_PAUSE_SECONDS = 20.0
"""A standstill so long is no pause of normal life, once somebody asks why the job died."""

_LEAST_SECONDS = 2.0
"""A standstill that outlasted the job's own time-out is one, however short that was set."""

_FEW_POINTS, _ORDERS = 5, 10.0
"""Of a log that people paste, points before a spike, and by how much a loss that is lost has grown:
a log may begin in the middle of a curve, and its end is known.
"""
_FEWEST_BEFORE = 3
"""Of the same, points before a resume: a log of epochs has no more, and its resume is said."""
_OF_THE_END = ("nonfinite", "data_wait", "slow_steps", "gradient_explosion")
"""Detectors that say more once no step comes any more."""

_TIMED_OUT = frozenset({
    "collective.timeout", "gloo.timeout", "gloo.barrier_timeout", "nccl.watchdog_timeout",
    "hccl.notify_timeout",
})  # fmt: skip

_SEVERITIES = ("critical", "warning", "info")


def incidents(
    found: ArtefactContents,
    settings: "CollectorSettings | None",
    failed: Callable[[str, Exception], None],
) -> tuple[list[dict[str, Any]], ReplayRun]:
    """Return the documents of all incidents, the gravest first, and the run that found them.

    Without settings the detectors and limits are those that ship. Where no cause is named, though
    lines speak of a fault, they are evaluated again as what is left of a job that is dead.
    """
    best: tuple[list[dict[str, Any]], ReplayRun] | None = None
    pace = EvaluationPace.of(found)
    for over in (None, found.newest):
        pipeline = DetectionPipeline(
            detectors=_detectors(settings, found, over),
            settings=None if settings is None else settings.evaluation,
            post_mortem=True,
        )
        if over is not None:
            pipeline.windows.event_memory_seconds = math.inf
        run = ReplayRun(pipeline=pipeline, warn=lambda _: None, failed=failed)
        table = pipeline.table.alike()
        received = run.run_decoded(timed_payloads.in_order(found, table, pace), table, pace)
        answers = sorted(received, key=_place)
        if best is None or (answers and _graver(answers, best[0])):
            best = answers, run
        if _answered(best[0]) or not found.telling:
            break
    assert best is not None  # noqa: S101  of the first pass
    return best


def ending(
    found: ArtefactContents, resource: TelemetryResource, failed: Callable[[str, Exception], None]
) -> dict[str, Any] | None:
    """Return the document of where a log ends that speaks of no fault, None where none does so."""
    if found.open_end is None:
        return None
    at = found.newest or time.time()
    pairs = {"signature": OPEN_END, "role": "root", "text": found.open_end.text}
    pipeline = DetectionPipeline(
        detectors=DetectorSelection((LoggedFaultsDetector(over=at),)), post_mortem=True
    )
    run = ReplayRun(pipeline=pipeline, warn=lambda _: None, failed=failed)
    table = pipeline.table.alike()
    payloads = iter([DecodedPayload(events=[Event("log.fault", at, pairs, resource)], table=table)])
    return next(iter(run.run_decoded(payloads, table, EvaluationPace())), None)


def _gravity(incident: dict[str, Any]) -> tuple[int, bool]:
    """Return where an incident stands among others: the gravest first, of equals a named one."""
    return _SEVERITIES.index(incident["severity"]), _fault(incident) == UNKNOWN


def _place(incident: dict[str, Any]) -> tuple[object, ...]:
    """Return where an incident stands in an answer: of equally grave ones the first that showed.

    Of those that showed in the same second their ids, which follow from the moment, say nothing.
    """
    entity = incident["root_cause"]["hypotheses"][0]["entity"]
    whose = tuple(str(entity[key] or "") for key in ("type", "host", "id"))
    return *_gravity(incident), incident["detected_at"], _fault(incident), whose


def _graver(some: list[dict[str, Any]], others: list[dict[str, Any]]) -> bool:
    """Return whether the first of some incidents is graver than that of others."""
    return not others or _gravity(some[0]) < _gravity(others[0])


def _answered(found: list[dict[str, Any]]) -> bool:
    """Return whether a cause is named of more than news."""
    return any(one["severity"] != "info" and _fault(one) != UNKNOWN for one in found)


def _fault(incident: dict[str, Any]) -> str:
    return str(incident["root_cause"]["hypotheses"][0]["fault"])


def _detectors(
    settings: "CollectorSettings | None", found: ArtefactContents, over: float | None
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
        "pcie_links": {"readings": 1},  # as many as a pasted table has
        "never_started": {"announced": True},
        "loss_spike": {"few": _FEW_POINTS},
        "divergence": {"orders": _ORDERS},
        "bad_resume": {"fewest": _FEWEST_BEFORE, "of_log": True},
    }
    if found.until is not None:
        ours |= {name: {"over_at": found.until} for name in _OF_THE_END}
    if found.shown is not None:
        ours["standing_devices"] = {"shown": found.shown}
    if found.until is not None and not found.telling:
        ours["transports"] = {"over": found.until}
    if over is not None:
        ours["logged_crashes"] = {"over": over}
    if settings is None:
        selected = DetectorSelection(catalogue.detectors(), [SelectionRule(parameters=ours)])
    else:
        chosen = settings.detectors
        parameters = {name: dict(values) for name, values in chosen.parameters.items()}
        for name, values in ours.items():
            parameters[name] = values | parameters.get(name, {})
        selected = chosen.model_copy(update={"parameters": parameters}).selection()
    ends: list[Detector] = []
    if found.until is not None:
        ends += [
            ThroughputDetector(over=found.until), LoggedDivergenceDetector(over=found.until),
            LoggedGrowthDetector(over=found.until),
            LoggedLostTimeDetector(over=found.until),
        ]  # fmt: skip
        if not found.telling:
            ends += [
                NeverFellDetector(over=found.until), RisingLossDetector(over=found.until),
                LossClipDetector(over=found.until),
            ]  # fmt: skip
    if found.shown is not None:
        ends.append(OccupiedDevicesDetector(over=found.shown))
    if over is not None:
        ends.append(LoggedFaultsDetector(over=over))
    return DetectorSelection((*selected.detectors, *ends), selected.rules)
