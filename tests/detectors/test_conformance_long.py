"""What the contract promises of every detector, held in jobs that last long enough to leak."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from tests.detectors.troubled import turned

from rankscope.detectors.catalogue import detectors
from rankscope.detectors.window import JobWindow, Readings, no_processes
from rankscope.vocabulary import findings as vocabulary
from rankscope.vocabulary.topology import Placement, Topology

EVERY = pytest.mark.parametrize("detector", detectors(), ids=lambda detector: detector.name)
JOBS = pytest.mark.parametrize("job", ["leaking", "uneven", "idle"])


def sound(detector, findings):
    for finding in findings:
        assert finding.kind in detector.kinds
        assert finding.entity.type in vocabulary.catalogue()[finding.kind].entities
        assert finding.onset[0] <= finding.onset[1]
        numbers = (*finding.onset, *finding.window, finding.score, finding.magnitude)
        assert all(math.isfinite(number) for number in numbers), finding
        assert finding.score >= 0
        assert finding.text.strip() == finding.text != ""


def short(findings):
    return sorted((f.kind, f.entity.id, f.onset, round(f.magnitude, 6), f.text) for f in findings)


def placed_in(window: JobWindow, order) -> Topology | None:
    """Return where the ranks of a job run, with their rows in another order."""
    old = window.placed
    if old is None:
        return None
    rows = [Placement(old.ranks[row], old.hosts[old.host_of[row]], pp=old.pp[row]) for row in order]
    return Topology(old.job, world_size=8, placements=rows, groups=old.groups)


@EVERY
@JOBS
def test_the_same_window_gives_equal_findings_of_the_vocabulary(detector, job, long_jobs):
    findings = list(detector.evaluate(long_jobs()[job]))
    sound(detector, findings)
    again = pickle.loads(pickle.dumps(detector))  # noqa: S301  our own bytes
    assert findings == list(again.evaluate(long_jobs()[job]))


@EVERY
@JOBS
def test_the_order_of_the_ranks_rows_changes_nothing(detector, job, long_jobs):
    window = long_jobs()[job]
    order = np.array([5, 2, 7, 0, 1, 6, 3, 4])
    other = turned(window, order, placed_in(window, order))
    assert short(detector.evaluate(window)) == short(detector.evaluate(other))


@EVERY
@JOBS
def test_any_metric_may_be_missing_or_without_a_value(detector, job, long_jobs):
    window = long_jobs()[job]
    steps = window.steps

    def blank(held):
        return {name: Readings(one.at, one.value * np.nan) for name, one in held.items()}

    def without(held, name):
        return {other: one for other, one in held.items() if other != name}

    planes, by_rank, by_host = steps.planes, window.rank_readings, window.host_readings
    empty = {name: plane * np.nan for name, plane in planes.items()}
    poorer = [
        replace(window, processes=no_processes()),
        replace(window, host_readings={}),
        replace(window, hw_ids=(None,) * 8, pids=np.full(8, -1)),
        replace(window, hosts=(), host_of=np.full(8, -1), host_readings={},
                host_last_received=np.zeros(0), host_interval=np.zeros(0),
                processes=no_processes()),
        replace(window, host_readings=blank(by_host)),
        replace(window, rank_readings=blank(by_rank)),
        replace(window, steps=replace(steps, planes=empty)),
        *(replace(window, steps=replace(steps, planes=without(planes, name))) for name in planes),
        *(replace(window, rank_readings=without(by_rank, name)) for name in by_rank),
    ]  # fmt: skip
    for one in poorer:
        sound(detector, detector.evaluate(one))


@EVERY
@JOBS
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_third_of_all_points_may_be_missing_and_some_absurd(detector, job, seed, long_jobs):
    random = np.random.default_rng(seed)
    window = long_jobs()[job]
    odd = [0.0, -1.0, 1e300, np.inf, np.nan]

    def spoilt(values):
        values = np.where(random.random(values.shape) < 0.3, np.nan, values)
        return np.where(
            random.random(values.shape) < 0.01, random.choice(odd, values.shape), values
        )

    def torn(held: Readings) -> Readings:
        return Readings(np.where(random.random(held.at.shape) < 0.1, np.nan, held.at),
                        spoilt(held.value))  # fmt: skip

    processes = window.processes
    findings = detector.evaluate(
        replace(
            window,
            steps=replace(
                window.steps, planes={n: spoilt(p) for n, p in window.steps.planes.items()}
            ),
            rank_readings={name: torn(held) for name, held in window.rank_readings.items()},
            host_readings={name: torn(held) for name, held in window.host_readings.items()},
            processes=replace(
                processes, readings={n: torn(held) for n, held in processes.readings.items()}
            ),
        )
    )
    sound(detector, findings)
