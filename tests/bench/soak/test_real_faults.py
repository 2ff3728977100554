"""A soak of real faults goes on where it stopped, and sums up what was right."""

import json

from bench.soak import real_faults
from rankscope.lab import mechanisms


def row(mechanism: str, **more: object) -> dict[str, object]:
    return {"mechanism": mechanism, "culprit": True, "right": False, "seconds": 11.5, **more}


def test_what_is_missing_is_run_in_turns(tmp_path):
    file = tmp_path / "runs.jsonl"
    file.write_text("".join(json.dumps(row("gil-hold")) + "\n" for _ in range(2)))
    names = ["gil-hold", "early-exit"]
    assert ["gil-hold", "early-exit", "early-exit", "early-exit"] == list(
        real_faults._missing(file, dict.fromkeys(names, 3))
    )
    assert 20 - 2 + 5 == len(
        list(real_faults._missing(file, {name: real_faults.HANGS[name] for name in names}))
    )


def test_a_run_in_which_nothing_was_made_to_hang_is_repeated_and_not_summed(tmp_path):
    file = tmp_path / "runs.jsonl"
    rows = [row("gil-hold", culprit=False, ran=False), row("gil-hold", ran=True)]
    file.write_text("".join(json.dumps(each) + "\n" for each in rows))
    assert ["gil-hold"] == list(real_faults._missing(file, {"gil-hold": 2}))
    assert 1 == real_faults.summed(rows)["gil-hold"]["runs"]


def test_runs_are_summed_by_mechanism():
    said = ["warning: Slow GPU"]
    rows = [row("a"), row("a", culprit=False, right=True, seconds=None, after=40.0)]
    rows += [row("b", stack=True, others=said)]
    assert {
        "a": {"runs": 2, "right": 1, "culprit": 1, "stack": 0, "others": 0,
              "most_seconds": 11.5, "most_after": 40.0},
        "b": {"runs": 1, "right": 0, "culprit": 1, "stack": 1, "others": 1,
              "most_seconds": 11.5, "most_after": 0.0},
    } == real_faults.summed(rows)  # fmt: skip


def test_every_way_to_hang_is_one_of_the_laboratorys():
    assert set(real_faults.HANGS) <= {one.name for one in mechanisms.MECHANISMS}
