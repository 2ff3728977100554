"""Learning of the catalogue's numbers: from a case's evaluations to the files, and back."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.alerts.explaining import EVERYTHING

from rankscope.alerts.affected_job import JobHealth
from rankscope.alerts.causes.calibration import Calibration
from rankscope.alerts.causes.catalogue import catalogue
from rankscope.lab import suites
from rankscope.lab.learning import applying, collecting, examples, fitting, validation
from rankscope.lab.learning.evaluations import Evaluation, Replayed, TrackedCase
from rankscope.lab.learning.parameters import engine, of_prediction, values
from rankscope.lab.scoring import running
from rankscope.lab.scoring.seen import Truth
from rankscope.vocabulary import findings as kinds
from rankscope.vocabulary.findings import Finding
from rankscope.vocabulary.ids import Job
from rankscope.vocabulary.ranks import Ranks
from rankscope.vocabulary.topology import Placement, Topology

ROOT = Path(__file__).resolve().parents[3]
HEAD = ROOT / "alerts" / "causes" / "catalogue.toml"
ROWS = sorted(ROOT.glob("vocabulary/faults/*.toml"))
JOB = Job("run-1")
LAYOUT = Topology(
    JOB,
    placements=[
        Placement(rank, f"host-{rank // 2}", local_rank=rank % 2, hw_id=f"GPU-{rank}")
        for rank in range(8)
    ],
)


def finding(kind, entity, onset=100.0):
    return Finding(
        kind=kind, job=JOB, attempt=0, entity=entity, onset=(onset, onset), magnitude=1.3,
        score=3.0, detector="by-hand", signal=kinds.catalogue()[kind].signals[0],
        window=(onset, onset + 20.0), observed=1.3, expected=1.0, text=kind, ranks=Ranks(()),
    )  # fmt: skip


def case(rank, evidence, fault, *, number=0):
    """Return a case in which one rank is slow with one more finding about its device."""
    device = LAYOUT.gpu_entity(rank)
    assert device is not None
    found = (
        finding("job.slow", LAYOUT.job_entity),
        finding("rank.slow_compute", LAYOUT.rank_entity(rank)),
        *((finding(evidence, device),) if evidence else ()),
    )
    health = JobHealth(8, 4, None, 0, 150.0, 0.0)
    rows = tuple(
        Evaluation(100.0 + at, JOB, 0, found, LAYOUT, EVERYTHING, 0.0, health)
        for at in (5.0, 6.0, 20.0)
    )
    drawn = {"suite": "tuning", "shape": f"shape-{number}", "observable": True}
    return TrackedCase(drawn, 1.0, (Truth(fault, device, JOB, 100.0),), rows)


CASES = [
    case(rank, evidence, fault, number=rank)
    for rank in range(4)
    for evidence, fault in (("gpu.throttled", "gpu.thermal_throttle"), ("", "gpu.slow"))
]


@pytest.fixture(scope="module")
def learned_from():
    return [row for each in CASES if (row := examples.example(each, catalogue())) is not None]


def test_scores_in_columns_are_the_scores_of_the_engine(learned_from):
    """With all multipliers 1 a snapshot ranks as the engine does."""
    knowledge = catalogue()
    names = fitting.names(knowledge, "single")
    columns = {parameter: number for number, parameter in enumerate(sorted(names))}
    data = fitting.packed(learned_from[:1], knowledge, columns)
    score, _ = fitting.scores(data, np.ones(len(columns)), knowledge.weights.family_cap)
    replayed = Replayed()
    replayed.play(CASES[0].evaluations, knowledge)
    (incident,) = replayed.tracker.incidents.values()
    first = incident.root_cause.hypotheses[0]
    assert pytest.approx(first.score) == score[data.snapshot == 0].max()
    assert first.fault == data.faults[int(np.argmax(np.where(data.snapshot == 0, score, -np.inf)))]


def test_unknown_is_right_where_no_candidate_is():
    wrong = case(1, "", "host.storage_slow")
    row = examples.example(wrong, catalogue())
    assert row is not None
    assert [True] * len(row.snapshots) == [bool(shot.right[-1]) for shot in row.snapshots]


def test_symptoms_from_long_before_the_fault_are_no_part_of_a_case():
    late = replace(CASES[0], truths=(replace(CASES[0].truths[0], onset=5_000.0),))
    assert examples.example(late, catalogue()) is None


def test_learning_never_changes_a_sign_and_makes_the_right_causes_likelier(learned_from):
    before = fitting.fit(learned_from, catalogue(), sharing="single", shrinkage=1e6)
    after = fitting.fit(learned_from, catalogue(), sharing="single", shrinkage=1.0)
    assert after.loss < before.loss
    held = values(catalogue())
    numbers = applying.learned(catalogue(), after.multipliers)
    assert all(numbers[parameter] * value >= 0 for parameter, value in held.items())


def test_the_same_examples_give_the_same_numbers(learned_from):
    one, other = (
        fitting.fit(learned_from, catalogue(), sharing="shared", shrinkage=5.0) for _ in range(2)
    )
    assert one == other


def test_what_is_fixed_keeps_its_number(learned_from):
    made = fitting.fit(
        learned_from, catalogue(), sharing="single", shrinkage=0.1, fixed=("prior", "scope")
    )
    assert (1.0, 1.0) == (made.multipliers[engine("prior")], made.multipliers[engine("scope")])


def test_held_out_parts_share_no_fault(learned_from):
    for kept, left in validation.parts(learned_from, validation.HELD_OUT["fault"]):
        assert set() == {row.fault for row in kept} & {row.fault for row in left}


def test_a_held_out_figure_is_of_every_case(learned_from):
    row = validation.held_out(learned_from, catalogue(), validation.Learner(None), "shape")
    assert pytest.approx(1.0) == row.first
    assert row.loss > 0


@pytest.mark.parametrize("path", ROWS, ids=lambda path: path.stem)
def test_writing_the_numbers_that_stand_there_changes_no_byte(path):
    text = path.read_text(encoding="utf-8")
    assert text == applying.rewrite(text, applying.learned(catalogue(), {}))


def test_a_catalogue_that_is_written_reads_back_as_it_was_meant(tmp_path):
    for path in (HEAD, *ROWS):
        to = tmp_path / path.relative_to(ROOT)
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(path.read_bytes())
    numbers = applying.learned(catalogue(), dict.fromkeys(values(catalogue()), 1.5))
    fitted = Calibration(0.5, 0.9, 0.6, "these")
    changed = applying.write(tmp_path, numbers, fitted, "2099.1")
    head = (tmp_path / HEAD.relative_to(ROOT)).read_text(encoding="utf-8")
    assert len(changed) == 9
    assert 'version = "2099.1"' in head
    assert "# evidence, in nats, that a named cause must bring to beat unknown" in head
    expected = applying.adjusted(catalogue(), numbers)
    row = next(cause for cause in expected.causes if cause.fault == "gpu.slow")
    assert numbers[of_prediction(row, "present", 0)] == row.predicts[0].present
    text = (tmp_path / "vocabulary" / "faults" / "gpu.toml").read_text(encoding="utf-8")
    written = f'finding = "rank.slow_compute", at = "ranks", present = {row.predicts[0].present:g}'
    assert written in text


def test_a_case_is_kept_as_its_tracker_was_given_it_and_ranked_again_the_same():
    case = next(row for row in suites.draw(suites.suite("tuning")) if row.kind == "crash")
    tracked = collecting.collect(case)
    assert "" == tracked.error
    again = Replayed()
    again.play(tracked.evaluations, None)
    assert ["software.crash"] == [row.fault for row in tracked.found]
    assert tracked.found == running.in_order(again.seen.values())
