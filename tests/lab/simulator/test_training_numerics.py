"""What a job computes: healthy curves, and what spoils them."""

import dataclasses

import numpy as np
import pytest

from .jobs import broken, events, healthy, injected, losses, of_rank, rows, scenario, steps


def norms(found, attempt=0):
    return np.array([row.grad_norm for row in found.attempts[attempt].steps.values])


def rates(found):
    return np.array([row.learning_rate for row in found.attempts[0].steps.values])


def near(found):
    """Return the row of the first step that ended after the onset."""
    return int(np.argmax(steps(found, "start")[:, 0] > 60.0))


def test_a_healthy_loss_falls_fast_first_and_slowly_later():
    loss = losses(healthy(seconds=300.0))
    assert loss[5] - loss[50] > 2 * (loss[100] - loss[200]) > 0


def test_a_benign_spike_is_over_within_a_few_steps():
    loss = losses(healthy(seconds=600.0, loss_spikes=0.01, loss_noise=0.005))
    usual = np.array([np.median(loss[max(n - 20, 0) : n + 20]) for n in range(len(loss))])
    high = loss > 1.08 * usual
    high[:20] = False
    runs = "".join("x" if one else "." for one in high).replace(".", " ").split()
    assert runs
    assert max(map(len, runs)) <= 4


def test_fewer_tokens_make_a_noisier_loss():
    found = healthy(seconds=400.0, variable_length=0.5, loss_noise=0.1)
    values = found.attempts[0].steps.values
    ratio = np.concatenate([row.loss / row.global_loss for row in values[20:]])
    tokens = np.concatenate([row.tokens for row in values[20:]])
    assert ratio[tokens < 10_000].std() > 1.3 * ratio[tokens > 26_000].std()


def test_the_learning_rate_follows_its_schedule():
    warm, cosine, stepped = (
        rates(healthy(seconds=400.0, rate_schedule=kind, rate_steps=300))
        for kind in ("warm_up", "cosine", "steps")
    )
    assert warm[0] < warm[100] < warm[199] == warm[-1]
    assert cosine[-1] == pytest.approx(0.1 * 3e-4, rel=0.05)
    assert stepped[150] == pytest.approx(warm[150] * 0.1)


def test_a_loss_may_be_reported_both_ways_and_norms_of_own_gradients_too():
    found = healthy(loss_scope="both", local_norms=True)
    for metric in ("training.loss", "training.grad_norm"):
        own = np.stack([v for _, v in rows(found, metric, scope="local").values()])
        reduced = np.stack([v for _, v in rows(found, metric, scope="global").values()])
        assert np.ptp(reduced, axis=0).max() == 0
        assert np.ptp(own, axis=0).min() > 0


@pytest.mark.parametrize(("width", "comes_back"), [(10.0, True), (float("inf"), False)])
def test_a_spike_comes_back_or_does_not(width, comes_back):
    found = broken("loss_spike", {"height": 0.8, "steps": width})
    loss, at = losses(found), near(found)
    assert loss[at] > 1.5 * loss[at - 3]
    assert (loss[-5:].mean() < loss[at - 3]) == comes_back
    assert norms(found)[at] > 2 * np.median(norms(found)[at - 20 : at - 1])


def test_a_divergence_rises_steadily():
    loss = losses(broken("divergence", {"rate": 0.02}))
    found = loss[60:]
    assert (np.diff(found[::10]) > 0).mean() > 0.8
    assert found[-1] > 1.4 * found[0]


def test_exploding_gradients_come_before_the_loss():
    found = broken("gradient_explosion", {"rate": 0.2})
    at = near(found)
    assert norms(found)[at + 20] > 4 * norms(found)[at - 1]
    assert losses(found)[at + 20] < 1.05 * losses(found)[at - 1]
    assert losses(found)[-1] > 1.1 * losses(found)[at - 1]


def test_vanishing_gradients_leave_a_flat_loss():
    found = broken("gradient_vanishing", {"rate": 1.0}, loss_noise=0.002, seconds=200.0)
    assert norms(found)[-1] < 1e-6
    late = losses(found)[near(found) + 10 :]
    assert abs(late[-20:].mean() - late[:20].mean()) < 0.005 * late.mean()


@pytest.mark.parametrize(("how", "shown"), [("schedule", True), ("frozen", False)])
def test_a_plateau_is_flat_whether_the_learning_rate_shows_it_or_not(how, shown):
    found = broken(
        "plateau", {"how": how}, loss_steps=60.0, loss_power=1.2, loss_noise=0.002, seconds=200.0
    )
    at, loss = near(found), losses(found)
    assert loss[at - 20] - loss[at - 1] > 0.3
    assert abs(loss[at + 5] - loss[-1]) < 0.05
    assert (rates(found)[-1] < 0.01 * rates(found)[at - 2]) == shown


@pytest.mark.parametrize("settings", [{"lost": 0.9}, {"wrong_data": 0.3}])
def test_a_bad_resume_begins_with_the_first_step_after_the_restart(settings):
    found = broken("bad_resume", settings, restarts=(60.0,), restart_seconds=10.0)
    assert len(found.attempts) == 2
    before, after = losses(found, 0), losses(found, 1)
    assert after[:5].mean() > 1.2 * before[-5:].mean()
    begins = float(found.attempts[1].steps.start[0].min())
    assert found.truth.onset == pytest.approx(1_772_438_400.0 + begins)


def test_a_good_resume_goes_on_where_it_stood():
    found = healthy(restarts=(60.0,), restart_seconds=10.0)
    assert losses(found, 1)[:5].mean() == pytest.approx(losses(found, 0)[-5:].mean(), rel=0.03)


def test_a_diverging_replica_leaves_its_peers_in_its_own_loss():
    found = broken("replica_divergence", {"host": 1, "place": 2, "rate": 0.01})
    own = of_rank(found, "training.loss", scope="local")
    last = {rank: value[-10:].mean() for rank, (_, value) in own.items()}
    assert max(last, key=lambda rank: last[rank]) == 6
    assert last.pop(6) > 1.3 * max(last.values())


def test_the_loss_scale_halves_down_to_nothing_and_then_the_values_are_not_finite():
    found = broken(
        "nan_precision", loss_scale=2.0**10, loss_scale_fits=2.0**10, guards_numerics=True
    )
    at, _ = of_rank(found, "training.loss_scale")[0]
    scale = of_rank(found, "training.loss_scale")[0][1]
    before, after = scale[at < 60], scale[at > 63]
    assert np.ptp(before) == 0
    assert (np.diff(after[:6]) < 0).all()
    assert scale[-1] == 1.0
    assert np.isfinite(losses(found)[near(found) + 5])
    assert np.isnan(losses(found)[-1])
    assert events(found, "training.numeric")


def test_a_healthy_loss_scale_overflows_once_in_a_while_and_recovers():
    found = healthy(loss_scale=2.0**16, loss_scale_fits=2.0**12, guards_numerics=True)
    assert np.isinf(norms(found)).sum() == 4
    assert np.isfinite(losses(found)).all()


def test_weak_changes_are_smaller_than_plain_ones():
    def rise(strength):
        return np.median([
            losses(injected("loss_spike", scenario(), seed=seed, strength=strength)).max()
            / losses(healthy(seed=seed)).max()
            for seed in range(3)
        ])  # fmt: skip

    assert rise("weak") <= rise("plain")


def test_the_curve_of_a_job_does_not_depend_on_who_reports_it():
    base = scenario()
    other = dataclasses.replace(
        base, jobs=(dataclasses.replace(base.jobs[0], reported_by="log", report_from="last"),)
    )
    first, second = (healthy_of(one) for one in (base, other))
    np.testing.assert_array_equal(losses(first), losses(second))


def healthy_of(one):
    from rankscope.lab.simulator import recording  # noqa: PLC0415

    return recording.simulate(one, 1)
