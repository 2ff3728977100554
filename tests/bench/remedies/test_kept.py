"""Trials that were run already: taken from their file, but for a line that was cut off."""

from collections import Counter

from bench.remedies.kept import KeptTrials
from bench.remedies.precision import ActionTruth
from bench.remedies.trial import TrialResult

ACTED = ActionTruth("a1", "restart of job-0 for software.deadlock", 0.0, "recovered", "")


def result(seed):
    return TrialResult(seed, states=Counter(done=2), acted=[ACTED], faults=3)


def test_a_trial_comes_back_as_it_was(tmp_path):
    path = tmp_path / "trials.jsonl"
    KeptTrials(path).add(result(7))
    kept = KeptTrials(path)
    assert result(7) == kept.get(7)
    assert kept.get(8) is None


def test_a_line_that_was_cut_off_is_run_again(tmp_path):
    path = tmp_path / "trials.jsonl"
    KeptTrials(path).add(result(7))
    KeptTrials(path).add(result(8))
    path.write_text(path.read_text()[:-20])
    kept = KeptTrials(path)
    assert (result(7), None) == (kept.get(7), kept.get(8))
    kept.add(result(8))
    assert result(8) == KeptTrials(path).get(8)
