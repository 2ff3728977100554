"""Bad resume: the first losses of an attempt against those of the attempt before."""

import numpy as np
import pytest

from rankscope.detectors.baselines import JobBaselines
from rankscope.detectors.numbers.bad_resume import BadResumeDetector
from rankscope.detectors.numbers.loss_spike import LossSpikeDetector
from rankscope.vocabulary.findings import Finding
from rankscope.vocabulary.log_lines import RESUME_EXPLAINED
from rankscope.vocabulary.samples import Event


@pytest.fixture
def resumed(reported, losses):
    """Return a function that resumes at a step of an attempt of 300 steps whose loss falls."""

    def resume(first, loss, **more):
        before = JobBaselines()
        falling = losses(300) + 4.0 * np.exp(-np.arange(300) / 50)
        before.record(reported(falling).features)
        held = JobBaselines()
        held.follow(before)
        window = reported(loss, first=first, gaps={0: 1e4}, held_baselines=held, **more)
        held.record(window.features)
        return list(BadResumeDetector().evaluate(window))

    return resume


def test_weights_that_were_lost_are_found_with_the_second_loss(resumed, losses):
    (bad,) = resumed(250, losses(2, level=6.0))
    assert "resumed at step 250" in bad.text
    assert bad.score >= 2


def test_five_losses_show_a_rise_that_two_of_them_do_not(resumed):
    higher = np.array([2.15, 2.19, 2.16, 2.17, 2.15])
    assert [] == resumed(250, higher[:2])
    (bad,) = resumed(250, higher)
    assert bad.score < 2


def test_sixteen_losses_show_a_rise_that_five_noisy_ones_do_not(reported, losses):
    """By five standard deviations of a step; without the rise as many show none."""
    before, held = JobBaselines(), JobBaselines()
    before.record(reported(losses(300, level=4.0, noise=0.12)).features)
    held.follow(before)

    def resumed(count: int, level: float) -> list[Finding]:
        loss = losses(count, level=level, noise=0.12, seed=8)
        window = reported(loss, first=250, gaps={0: 1e4}, held_baselines=held)
        return list(BadResumeDetector().evaluate(window))

    assert [] == resumed(5, 4.55)
    assert [] == resumed(15, 4.55)
    (bad,) = resumed(16, 4.55)
    assert "resumed at step 250 with a loss of 4.5" in bad.text
    assert [] == resumed(60, 4.1)


@pytest.mark.parametrize("count", [2, 3, 4, 5, 12])
def test_a_spike_in_the_first_step_that_passes_at_once_is_quiet(resumed, losses, count):
    """One hard batch: half above, a third of that in the next step, and so on."""
    loss = losses(count, level=2.0) + 1.0 * 0.35 ** np.arange(count)
    assert [] == resumed(250, loss)


def test_a_rise_that_recovers_slowly_is_found_with_the_second_loss(resumed, losses):
    loss = losses(12, level=2.0) + 4.0 * 0.8 ** np.arange(12)
    assert resumed(250, loss[:2])
    assert resumed(250, loss)


def test_a_resume_where_the_checkpoint_stood_is_quiet(resumed, losses):
    assert [] == resumed(250, losses(30, level=2.03))


def test_going_far_back_to_where_the_loss_was_higher_is_quiet(resumed, losses):
    assert [] == resumed(60, losses(20, level=2.0) + 4.0 * np.exp(-np.arange(60, 80) / 50))


def test_a_start_from_scratch_is_quiet(resumed, losses):
    assert [] == resumed(0, losses(20, level=6.0))


def test_losses_of_another_scope_are_not_compared(resumed, losses):
    assert [] == resumed(250, losses(20, level=6.0), plane="training.loss|local")


def test_it_is_said_for_as_long_as_the_loss_has_not_recovered(resumed, losses):
    assert resumed(250, losses(300, level=6.0))
    recovered = losses(300)
    recovered[:20] += 3.0
    assert resumed(250, recovered[:50])
    assert not resumed(250, recovered)


@pytest.fixture
def repeated(reported):
    """Return a function that makes steps again, with other losses."""

    def run(before, loss, *, first=700):
        held, attempt = JobBaselines(), JobBaselines()
        attempt.record(reported(np.asarray(before), first=first).features)
        held.follow(attempt)
        window = reported(np.asarray(loss), first=first, gaps={0: 1e4}, held_baselines=held)
        return [one.text for one in BadResumeDetector(fewest=3).evaluate(window)]

    return run


SAME_STEPS = [0.671, 0.668, 0.664, 0.669, 0.662]


def test_steps_that_are_made_again_with_higher_losses_are_a_resume_that_failed(repeated):
    """Nothing is known of before the checkpoint: the same steps had other losses."""
    (text,) = repeated(SAME_STEPS, [0.912, 0.903, 0.911, 0.899, 0.905])
    assert "training resumed at step 700 with a loss of 0.905; there it had been 0.668" == text


@pytest.mark.parametrize(
    ("before", "loss", "first"),
    [
        (SAME_STEPS, [0.673, 0.67, 0.661, 0.668, 0.664], 700),
        (SAME_STEPS, [0.68, 1.31, 0.66, 0.67, 0.665], 700),
        (SAME_STEPS[:2], [0.912, 0.903], 700),
        (SAME_STEPS, [0.912, 0.903, 0.911, 0.899, 0.905], 0),
    ],
    ids=["where it was", "one batch", "two steps", "another beginning"],
)
def test_steps_that_are_made_again_as_before_are_quiet(repeated, before, loss, first):
    assert [] == repeated(before, loss, first=first)


def test_the_first_loss_after_a_resume_is_no_spike(reported, losses):
    loss = losses(100)
    loss[:3] += 1.0
    assert [] == list(LossSpikeDetector().evaluate(reported(loss, first=250)))


def test_steps_that_go_back_within_an_attempt_are_a_resume(reported, losses):
    held = JobBaselines()
    first = reported(losses(200))
    held.record(first.features)
    again = reported(losses(20, level=5.0), first=150, gaps={0: 1e4}, held_baselines=held)
    held.record(again.features)
    (bad,) = BadResumeDetector().evaluate(again)
    assert "resumed at step 150" in bad.text


def test_late_reports_of_the_processes_before_do_not_hide_it(reported, losses):
    """A collector that names attempts on sending puts the old one's last steps into the new one."""
    before = JobBaselines()
    before.record(reported(losses(250)).features)
    held = JobBaselines()
    held.follow(before)
    loss = np.append(losses(3), losses(30, level=6.0))
    window = reported(loss, first=250, gaps={0: 1e4, 3: 60.0}, held_baselines=held)
    held.record(window.features)
    (bad,) = BadResumeDetector().evaluate(window)
    assert "resumed at step 253" in bad.text


def test_a_rise_of_a_few_percent_over_a_loss_that_falls_steeply_is_found_and_pages_nobody(resumed):
    expected = 2.0 + 4.0 * np.exp(-np.arange(40, 60) / 50)
    (bad,) = resumed(40, expected * 1.07)
    assert bad.score < 2
    assert [] == resumed(40, expected * 1.02)


@pytest.mark.parametrize("reached", [8, 10])
def test_a_curve_that_flattens_is_not_continued_by_a_line(reported, reached):
    """A loss every 100 steps: of eight points the oldest are steep, and the newest hardly are."""
    curve = 0.8 + 6.1 * (1 + np.arange(12) / 2) ** -0.6
    before, held = JobBaselines(), JobBaselines()
    before.record(reported(curve[:reached]).features)
    held.follow(before)
    window = reported(curve[8:], first=8, gaps={0: 1e4}, held_baselines=held)
    assert [] == BadResumeDetector().evaluate(window)


def test_steps_that_are_repeated_are_compared_with_what_they_had_before(reported, losses):
    """The loss rose after the checkpoint: it does so again."""
    risen = losses(300)
    risen[200:] += 1.0
    before, held = JobBaselines(), JobBaselines()
    before.record(reported(risen).features)
    held.follow(before)
    again = reported(risen[200:230], first=200, gaps={0: 1e4}, held_baselines=held)
    assert [] == BadResumeDetector().evaluate(again)


RESUMED = "training.resumed"


def said_so(reported, loss, at):
    """Return what is found in one attempt whose log says at a step that it resumed there."""
    plain = reported(loss)
    event = Event(RESUMED, float(plain.features.whole_loss.at[at]), {"text": "resumed"})
    return list(BadResumeDetector().evaluate(reported(loss, events=[event])))


def test_a_job_that_says_itself_that_it_resumed_is_compared_with_what_was_before(reported, losses):
    loss = losses(60)
    loss[40:] += 2.5
    (bad,) = said_so(reported, loss, 40)
    assert "resumed at step 40" in bad.text


def test_a_job_that_resumed_where_it_stood_is_quiet(reported, losses):
    assert [] == said_so(reported, losses(60), 40)


def test_a_job_that_says_so_before_its_first_step_is_quiet(reported, losses):
    assert [] == said_so(reported, losses(60), 0)


NORM, RATE = "training.grad_norm", "training.learning_rate"


def of_log(reported, loss, *, at, events=(), **planes):
    """Return what is found in the losses of a log that says at a step that it resumed there."""
    rows = {name: np.asarray(values)[None, :] for name, values in planes.items()}
    moment = float(reported(loss).features.whole_loss.at[at])
    said = [Event(RESUMED, moment, {"text": "resumed"}), *events]
    window = reported(loss, events=said, beside=rows)
    return list(BadResumeDetector(of_log=True).evaluate(window))


def risen(losses, by, count=60):
    loss = losses(count)
    loss[40:] += by
    return loss


@pytest.mark.parametrize(
    ("after", "told"), [(1.0, False), (2.0, True)], ids=["as before", "larger"]
)
def test_a_new_level_with_gradients_as_before_is_of_other_data(reported, losses, after, told):
    norm = losses(60, level=1.0)
    norm[40:] *= after
    found = of_log(reported, risen(losses, 0.5), at=40, **{NORM: norm})
    assert told == bool(found)


@pytest.mark.parametrize(
    "rise",
    [np.full(20, 2.5), 0.8 * np.exp(-np.arange(20) / 6), np.linspace(0.3, 0.9, 20)],
    ids=["far higher", "it is learnt again", "it climbs"],
)
def test_what_is_no_new_level_is_not_though_gradients_are_as_before(reported, losses, rise):
    norm = losses(60, level=1.0)
    assert of_log(reported, risen(losses, rise), at=40, **{NORM: norm})


def test_a_loss_that_rises_while_the_rate_warms_up_is_left_open(reported, losses):
    bump = 0.4 * np.sin(np.linspace(0, np.pi, 20))
    warm, kept = np.full(60, 1e-4), np.full(60, 1e-4)
    warm[40:] = np.linspace(1e-6, 1e-4, 20)
    assert of_log(reported, risen(losses, bump), at=40, **{RATE: kept})
    assert [] == of_log(reported, risen(losses, bump), at=40, **{RATE: warm})


def test_what_its_log_explains_is_no_resume_that_failed(reported, losses):
    loss = risen(losses, 0.5)
    pairs = {"signature": RESUME_EXPLAINED, "role": "confirmation", "text": "as before"}
    line = Event("log.fault", float(reported(loss).features.whole_loss.at[0]), pairs)
    assert of_log(reported, loss, at=40)
    assert [] == of_log(reported, loss, at=40, events=[line])
    assert of_log(reported, risen(losses, 2.5), at=40, events=[line])
