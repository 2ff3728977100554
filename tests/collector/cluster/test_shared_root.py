"""A fault of what jobs of two partitions stand on is one incident with one page, whoever owns them.

Detection is by hand, so that it needs no minutes of telemetry; the log is a real NATS.
"""

import itertools
import time
from collections.abc import Sequence

from tests.collector.by_hand import by_hand
from tests.waiting import until

from rankscope.collector.cluster import names, replaying
from rankscope.collector.intake.payloads import Payload
from rankscope.collector.journal.kinds import PayloadKind
from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.collector.replay.replay import ReplayRun
from rankscope.detectors.contract import Detector
from rankscope.detectors.window import JobWindow
from rankscope.formats.otlp import encode
from rankscope.vocabulary.findings import Finding
from rankscope.vocabulary.samples import Sample, TelemetryResource

from .conftest import PARTITIONS

JOBS = [
    next(f"run-{n}" for n in itertools.count() if names.of_job(f"run-{n}", PARTITIONS) == partition)
    for partition in range(PARTITIONS)
]
HOST = "shared"
SLOW = 10
"""The first step that the host's CPUs are late with."""


class Contended(Detector):
    """Finds the host to blame from step SLOW on."""

    name = "by-hand"
    kinds = ("job.slow", "rank.slow_compute", "host.cpu_wait")

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return the same as long as it lasts."""
        late = window.steps.index >= SLOW
        if not late.any():
            return ()
        onset = float(window.steps.at[0, late.argmax()])
        host = window.topology.host_entity(HOST)
        return [
            by_hand(window, "job.slow", window.topology.job_entity, onset),
            *(
                by_hand(window, "rank.slow_compute", window.topology.rank_entity(rank), onset)
                for rank in host.ranks
            ),
            by_hand(window, "host.cpu_wait", host, onset),
        ]


def _line() -> DetectionPipeline:
    return DetectionPipeline(detectors=(Contended(),))


def _send(stages, steps: Sequence[int]) -> None:
    for step in steps:
        for job in JOBS:
            groups = [
                (TelemetryResource(host=host, job=job), [*_rank(rank, step)])
                for rank, host in enumerate((HOST, f"{job}-own"))
            ]
            payload = Payload(PayloadKind.METRICS_PROTOBUF, encode.metrics_request(groups))
            stages.submit(payload).result(60)
        time.sleep(0.3)


def _rank(rank: int, step: int) -> Sequence[Sample]:
    at, mine = time.time(), (("rank", rank),)
    placed = (("local_rank", 0), ("pid", 100 + rank), ("world_size", 2))
    return [
        Sample("training.step", float(step), at, mine),
        Sample("training.step.duration", 0.3, at, mine),
        Sample("training.compute.duration", 0.2, at, mine),
        Sample("training.rank.info", 1.0, at, (*mine, *placed)),
    ]


def _all_ready(*collectors) -> bool:
    ones = [one for stages in collectors for one in stages.owned.partitions()]
    return len(ones) == PARTITIONS and all(one.ready for one in ones)


def _newest(stages) -> list[int]:
    def newest(line: DetectionPipeline) -> int:
        rows = [attempt.grid.view().index for attempt in line.windows.current()]
        return max((int(index[-1]) for index in rows if len(index)), default=0)

    return [one.read(newest) for one in stages.owned.partitions()]


def test_jobs_of_two_collectors_that_blame_one_host_are_one_incident_and_one_page(
    log, new_collector, monkeypatch
):
    # However long the correlator takes on a busy machine.
    monkeypatch.setattr("rankscope.alerts.shared.sharing.WAIT_SECONDS", 600.0)
    first, second = (new_collector(name, pipeline=_line) for name in ("first", "second"))
    first.start()
    second.start()
    until(lambda: all(len(one.owned) == 1 for one in (first, second)), "shared out")
    until(lambda: _all_ready(first, second), "both are ready")
    _send(first, range(1, SLOW + 5))

    def shared() -> list[list[str]]:
        return [sorted(row["jobs"]) for row in first._store.incidents().items]

    until(lambda: shared() == [sorted(JOBS)], "one incident of both jobs")
    (incident,) = first._store.incidents().items
    assert incident["root_cause"]["hypotheses"][0]["entity"]["id"] == HOST
    assert incident["impact"]["jobs"] == 2

    # Its collectors change places; nothing is announced again.
    first.stop()
    until(lambda: _all_ready(second), "taken over")
    _send(second, range(SLOW + 5, SLOW + 10))
    until(lambda: min(_newest(second)) >= SLOW + 9, "evaluated")
    assert shared() == [sorted(JOBS)]
    messages = second._store.deliveries("page", limit=1000)
    opened = [row.incident for row in messages if row.type == "incident.opened"]
    assert opened == [incident["id"]]

    # A replay of the streams folds them too.
    defects: list[object] = []

    def replay() -> ReplayRun:
        return ReplayRun(
            pipeline=_line(), warn=defects.append, failed=lambda *what: defects.append(what)
        )

    (again,) = replaying.replayed(log, replay)
    assert defects == []
    for name in ("id", "jobs", "opened_at", "detected_at"):
        assert again[name] == incident[name]
