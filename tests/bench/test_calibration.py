"""The curve of probabilities: from a first cause's lead to how often it is right."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from bench.calibration import catalogue_file, collecting, curves
from bench.calibration.curves import FITS, CalibrationAnswer
from bench.calibration.evaluations import RerankedCase
from rankscope.alerts.causes import calibration
from rankscope.alerts.causes.calibration import ProbabilityCalibration
from rankscope.alerts.causes.catalogue import catalogue
from rankscope.alerts.causes.reach import AnswerSetting, CalibratedReach
from rankscope.lab import suites
from rankscope.lab.scoring import running

FIT = pytest.mark.parametrize("fit", FITS.values(), ids=FITS)


@pytest.fixture(scope="module")
def rows():
    """Return answers of which those with a small lead are right in three of four cases."""
    draw = random.Random(3)
    return [
        CalibrationAnswer(lead, draw.random() < (0.75 if lead < 3 else 0.995),
                          f"fault.{number % 11}", f"shape {number % 7}", f"world {number % 3}")
        for number in range(2000)
        for lead in (draw.uniform(0.0, 6.0),)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def likeliest(rows):
    """Return the curve that makes held-out ones of these answers likeliest."""
    return curves.calibrated(rows)[0]


@FIT
def test_a_curve_never_falls_and_never_ends_at_certainty(rows, fit):
    chances = [chance for _, chance in fit(rows)]
    assert sorted(chances) == chances
    assert 0.0 < chances[0] <= chances[-1] <= 0.99


@FIT
def test_a_larger_lead_is_right_more_often(rows, fit):
    curve = fit(rows)
    assert calibration.at(curve, 1.0) < 0.9
    assert calibration.at(curve, 5.5) > 0.92


def test_held_out_answers_come_true_as_often_as_said(likeliest):
    assert likeliest.error <= 0.05


@pytest.mark.parametrize("by", curves.HELD_OUT)
def test_high_confidence_starts_where_hardly_any_held_out_answer_is_wrong(rows, likeliest, by):
    sure = curves.fitted(rows, likeliest, calibration.UNCALIBRATED, "").high
    held_out = curves.said_held_out(rows, FITS[likeliest.name], by)
    said = [right for chance, right in held_out if chance >= sure]
    assert 0.5 <= sure <= 1.0
    assert said.count(False) <= curves.MOST_WRONG * len(said)


@pytest.mark.parametrize("by", curves.HELD_OUT)
def test_what_is_held_out_has_no_say_in_its_own_probability(by):
    """Answers of one fault, and of one cluster, are all wrong: they are as sure as the others."""
    rows = [
        CalibrationAnswer(4.0, part > 0, f"fault.{part}", f"shape {part}", f"world {part}")
        for part in list(range(10)) * 20
    ]
    said = curves.said_held_out(rows, curves.isotonic, by)
    assert len(rows) == len(said)
    assert min(chance for chance, right in said if not right) > 0.95


@FIT
def test_generators_count_alike_however_many_answers_they_have(fit):
    """One with many right answers, and one with few of which half are wrong."""
    many = [CalibrationAnswer(4.0, True, "", world="many") for _ in range(900)]
    few = [CalibrationAnswer(4.0, number % 2 > 0, "", world="few") for number in range(100)]
    assert calibration.at(fit(many + few), 4.0) == pytest.approx(0.75, abs=0.02)


def test_few_answers_are_no_proof_of_high_confidence():
    assert 1.0 == curves.high([(0.99, True), (0.6, False)] * 3)


@pytest.mark.parametrize(("lead", "chance"), [(-3.0, 0.5), (0.0, 0.5), (1.0, 0.7), (9.0, 0.9)])
def test_between_two_points_the_curve_is_straight(lead, chance):
    assert calibration.at(((0.0, 0.5), (2.0, 0.9)), lead) == pytest.approx(chance)


def test_probabilities_of_all_hypotheses_sum_to_one():
    fitted = ProbabilityCalibration(0.7, 0.98, 0.6, "", ((0.0, 0.5), (2.0, 0.9)))
    chances, unknown = fitted.probabilities([4.0, 3.0, 1.0], 2.0, lead=1.0)
    assert chances[0] == pytest.approx(0.7)
    assert sum(chances) + unknown == pytest.approx(1.0)
    assert chances[1] > unknown > chances[2]


def test_no_cause_is_more_probable_than_the_one_that_is_named_first():
    fitted = ProbabilityCalibration(0.7, 0.98, 0.6, "", ((0.0, 0.3), (2.0, 0.9)))
    chances, unknown = fitted.probabilities([4.0, 4.0, 1.0], 0.0, lead=0.0)
    assert [0.3, 0.3] == pytest.approx(chances[:2])
    assert 1.0 == pytest.approx(sum(chances) + unknown)


def test_unknown_is_never_of_high_confidence():
    fitted = ProbabilityCalibration(0.7, 0.9, 0.6)
    assert "low" == fitted.confidence("unknown", 1.0)
    assert "high" == fitted.confidence("gpu.lost", 1.0)


REACH = CalibratedReach(ranks=(4.0, 64.0), interval=(1.0, 32.0), coverage=0.5)
SURE = ProbabilityCalibration(
    0.7, 0.9, 0.6, "", ((0.0, 0.3), (4.0, 0.96)), lone=1.0, far=1.0, reach=REACH
)
INSIDE = AnswerSetting(ranks=16, interval=5.0, coverage=0.8, signs=2)


@pytest.mark.parametrize(
    ("setting", "doublings"),
    [
        (INSIDE, 0.0),
        (replace(INSIDE, ranks=256), 2.0),
        (replace(INSIDE, ranks=2), 1.0),
        (replace(INSIDE, interval=128.0), 2.0),
        (replace(INSIDE, coverage=0.25), 1.0),
        (AnswerSetting(), 0.0),
    ],
)
def test_far_from_all_that_was_fitted_an_answer_is_less_probable_and_never_sure(setting, doublings):
    assert doublings == SURE.beyond(setting)
    chances, _ = SURE.probabilities([5.0, 1.0], 0.3, lead=4.0, setting=setting)
    assert chances[0] == pytest.approx(calibration.at(SURE.curve, 4.0 - doublings))
    word = SURE.confidence("gpu.lost", 0.99, setting)
    assert ("medium" if doublings else "high") == word


def test_in_a_job_of_any_size_a_cause_that_leads_by_far_is_still_probable():
    large = [replace(INSIDE, ranks=ranks) for ranks in (1_024, 16_384)]
    said = [SURE.probabilities([9.0, 1.0], 0.3, lead=6.0, setting=one)[0][0] for one in large]
    assert said == pytest.approx([calibration.at(SURE.curve, 4.0)] * 2)


def test_an_answer_that_rests_on_one_sign_is_less_probable():
    alone = replace(INSIDE, signs=1)
    several, single = (
        SURE.probabilities([5.0, 1.0], 0.3, lead=4.0, setting=setting)[0][0]
        for setting in (INSIDE, alone)
    )
    assert single == pytest.approx(calibration.at(SURE.curve, 3.0))
    assert single < several


def test_what_single_signs_cost_follows_from_how_often_they_are_wrong():
    draw = random.Random(9)
    rows = [
        CalibrationAnswer(
            lead,
            draw.random() < (0.97 if signs == 2 else 0.75) - 0.3 * (lead < 2),
            f"fault.{number % 11}",
            f"shape {number % 7}",
            f"world {number % 3}",
            replace(INSIDE, signs=signs),
        )
        for number in range(600)
        for lead, signs in ((draw.uniform(0.0, 6.0), draw.choice((1, 2))),)
    ]
    best = curves.calibrated(rows)[0]
    assert best.lone >= 1.0
    plain = curves.loss(curves.said_held_out(rows, FITS[best.name], "world"))
    assert best.losses["world"] < plain - 0.01


def test_a_generator_never_seen_whose_jobs_are_larger_is_said_to_be_less_sure():
    """The cases of one generator have larger jobs, in which a lead says less: two nats less."""
    draw = random.Random(4)
    rows = [
        CalibrationAnswer(
            lead,
            draw.random() < min(0.97, 0.3 + 0.15 * (lead - 2.0 * (world == "third"))),
            f"fault.{number % 9}",
            f"shape {number % 7}",
            world,
            replace(INSIDE, ranks=256 if world == "third" else draw.choice((8, 64))),
        )
        for number in range(300)
        for lead, world in ((draw.uniform(0.0, 6.0), ("first", "second", "third")[number % 3]),)
    ]
    best = curves.calibrated(rows)[0]
    assert best.far > 0
    near = curves.said_held_out(rows, FITS[best.name], "world", best.lone, 0.0)
    away = curves.said_held_out(rows, FITS[best.name], "world", best.lone, best.far)
    assert curves.loss(away) < curves.loss(near)


def test_a_curve_that_is_written_reads_back():
    text = (Path(calibration.__file__).parent / "catalogue.toml").read_text("utf-8")
    held = catalogue().calibration
    fitted = ProbabilityCalibration(
        0.8, 0.95, 0.5, "test", ((0.0, 0.25), (1.5, 0.875)),
        1.5, 0.5, CalibratedReach((4.0, 64.0), (1.0, 30.0), 0.25),
    )  # fmt: skip
    written = catalogue_file.rewrite(text, fitted, "test")
    assert "curve = [[0, 0.25], [1.5, 0.875]]" in written
    assert held is not None
    assert catalogue_file.rewrite(written, held, catalogue().version) == text


def test_a_case_is_kept_as_its_tracker_was_given_it_and_ranked_again_the_same():
    case = next(row for row in suites.draw(suites.suite("tuning")) if row.kind == "crash")
    tracked = collecting.collect(case)
    assert "" == tracked.error
    again = RerankedCase()
    again.play(tracked.evaluations, None)
    assert ["software.crash"] == [row.fault for row in tracked.found]
    assert tracked.found == running.in_order(again.seen.values())
