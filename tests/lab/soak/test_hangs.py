"""A soak of hangs goes on where it stopped, and sums up what was right."""

import json

from rankscope.lab import mechanisms
from rankscope.lab.soak import hangs


def row(mechanism: str, **more: object) -> dict[str, object]:
    return {"mechanism": mechanism, "culprit": True, "cause": False, "seconds": 11.5, **more}


def test_what_is_missing_is_run_in_turns(tmp_path):
    file = tmp_path / "runs.jsonl"
    file.write_text("".join(json.dumps(row("gil-hold")) + "\n" for _ in range(2)))
    names = ["gil-hold", "early-exit"]
    assert ["gil-hold", "early-exit", "early-exit", "early-exit"] == list(
        hangs._missing(file, names, 3)
    )
    assert 20 - 2 + 5 == len(list(hangs._missing(file, names, None)))


def test_a_run_in_which_nothing_was_made_to_hang_is_repeated_and_not_summed(tmp_path):
    file = tmp_path / "runs.jsonl"
    rows = [row("gil-hold", culprit=False, ran=False), row("gil-hold", ran=True)]
    file.write_text("".join(json.dumps(each) + "\n" for each in rows))
    assert ["gil-hold"] == list(hangs._missing(file, ["gil-hold"], 2))
    assert 1 == hangs.summed(rows)["gil-hold"]["runs"]


def test_runs_are_summed_by_mechanism():
    rows = [row("a"), row("a", culprit=False, cause=True, seconds=None), row("b", stack=True)]
    assert {
        "a": {"runs": 2, "culprit": 1, "cause": 1, "stack": 0, "most_seconds": 11.5},
        "b": {"runs": 1, "culprit": 1, "cause": 0, "stack": 1, "most_seconds": 11.5},
    } == hangs.summed(rows)


def test_every_way_to_hang_is_one_of_the_laboratorys():
    assert set(hangs.RUNS) <= {one.name for one in mechanisms.MECHANISMS}
