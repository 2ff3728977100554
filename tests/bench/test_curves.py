"""The table of real loss curves: how episodes are counted, and what a folder without data gives."""

import numpy as np

from bench import curves


def run(loss, labels=()):
    """Return a run of one rank, a report every fifth step."""
    count = len(loss)
    return curves.CurveRun(
        "made", "training.loss", 1 + 5 * np.arange(count), loss, np.full(count, 2.0), list(labels)
    )


def test_a_labelled_spike_is_found_and_a_quiet_run_has_no_episode():
    loss = np.random.default_rng(7).normal(2.0, 0.02, 220)
    assert {} == curves.episodes(run(loss))
    loss[150:152] += [1.0, 0.3]
    spiked = run(loss, labels=[751])
    assert {"job.loss_spike": [(150, 150)]} == curves.episodes(spiked)
    count = curves.MethodCount()
    curves.score(spiked, [(150, 150), (30, 31)], count, above_info=True)
    assert curves.MethodCount(found=1, false=1, critical=1) == count


def test_the_baseline_counts_points_above_its_deviations():
    loss = np.random.default_rng(7).normal(2.0, 0.02, 220)
    loss[150] = 3.0
    assert [(150, 150)] == curves.deviations(loss, 6.0)
    assert [] == curves.deviations(loss[:50], 6.0)


def test_a_folder_without_curves_is_an_error(tmp_path, capsys):
    assert 1 == curves.main([str(tmp_path)])
    assert "cannot read the curves" in capsys.readouterr().err
