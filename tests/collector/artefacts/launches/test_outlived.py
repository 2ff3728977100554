"""What a launcher calls dead though the job went on, and what it calls dead that ended the job."""

from datetime import UTC, datetime, timedelta

import pytest

from rankscope.collector.artefacts.launches.outlived import StepCourse
from rankscope.vocabulary.samples import Sample

START = datetime(2026, 5, 13, 12, tzinfo=UTC)
CRASHED = '[rank3]: Traceback (most recent call last):\n[rank3]:   File "t.py", line 1, in f\n'
CRASHED += "[rank3]: ValueError: bad sample 17\n"
LINES = {
    "Ray, of a node that missed its heartbeats": (
        (
            "{0},411 WARNING worker.py:20 -- The node with node id: 3c1f and address: 10.0.3.7 and "
            "node name: 10.0.3.7 has been marked dead because the detector has missed too many "
            "heartbeats from it."
        ),
        "host.lost",
    ),
    "Kubernetes": (
        "{0} Warning  NodeNotReady  node-controller  Node n7 status is now: NodeNotReady",
        "host.lost",
    ),
    "srun": ("{0} srun: error: Node failure on n7", "host.lost"),
    "torchrun of another node": (
        (
            "{0} The node 'n1_411_0' has determined that the node(s) 'n7_512_0' have been removed "
            "from the rendezvous 'job' since they had no heartbeat."
        ),
        "host.lost",
    ),
    "a task": ("{0} srun: error: n7: task 3: Killed", "software.crash"),
    "an eviction": (
        "{0} Warning  Evicted  kubelet  The node was low on resource: memory.",
        "host.evicted",
    ),
}


def stamp(seconds: float) -> str:
    return f"{START + timedelta(seconds=seconds):%Y-%m-%d %H:%M:%S}"


def steps(first: int, count: int, at: float, *, dated: bool = True) -> str:
    """Return steps of five seconds, the first of them at a second."""
    return "".join(
        (f"[{stamp(at + 5 * number)}] " if dated else "")
        + f"iteration {first + number:8d}/ 90000 | consumed samples: {512 * number} | elapsed time "
        f"per iteration (ms): 5000.0 | lm loss: {6 - (first + number) / 99:.6E} |\n"
        for number in range(count)
    )


def answer(document):
    """Return the first fault of an answer and the roles of its lines; no document: no fault."""
    if document is None:
        return None, ()
    lines = document["leftovers"]["lines"]
    return document["root_cause"]["hypotheses"][0]["fault"], {row["role"] for row in lines}


@pytest.mark.parametrize("line", [line for line, _ in LINES.values()], ids=LINES)
def test_a_loss_that_steps_follow_for_long_is_no_cause_of_the_crash_much_later(first, line):
    text = steps(1, 60, 0) + line.format(stamp(296)) + "\n" + steps(61, 300, 300) + CRASHED
    document = first(text)
    assert ("software.crash", {"root", "background"}) == answer(document)
    assert [3] == document["root_cause"]["hypotheses"][0]["entity"]["ranks"]
    told = [one for one in document["leftovers"]["lines"] if one["role"] == "background"]
    assert [61] == [one["line"] for one in told]
    assert told[0]["text"].endswith("(the job made steps for 25 minutes after it)")


@pytest.mark.parametrize("line", [line for line, _ in LINES.values()], ids=LINES)
def test_a_loss_that_steps_follow_is_no_fault_where_the_log_just_ends(first, line):
    text = steps(1, 60, 0) + line.format(stamp(296)) + "\n" + steps(61, 300, 300)
    assert (None, ()) == answer(first(text))


@pytest.mark.parametrize(("line", "fault"), LINES.values(), ids=LINES)
@pytest.mark.parametrize("after", [0, 2, 20])
def test_a_loss_soon_after_which_the_log_ends_ended_the_job(first, line, fault, after):
    text = steps(1, 60, 0) + line.format(stamp(296)) + "\n" + steps(61, after, 300)
    assert fault == answer(first(text))[0]


def test_a_loss_after_which_the_job_is_started_anew_stays(first):
    line = LINES["srun"][0].format(stamp(296)) + "\n"
    again = steps(1, 60, 0) + line + steps(41, 300, 600)
    assert "host.lost" == answer(first(again))[0]


def test_without_times_more_steps_than_a_buffer_holds_show_that_the_job_went_on(first):
    line = "srun: error: Node failure on n7\n"
    before = steps(1, 60, 0, dated=False)
    assert "host.lost" == answer(first(before + line + steps(61, 40, 0, dated=False)))[0]
    assert (None, ()) == answer(first(before + line + steps(61, 200, 0, dated=False)))


def test_without_times_steps_that_are_made_again_are_another_run(first):
    line = "srun: error: Node failure on n7\n"
    text = steps(1, 60, 0, dated=False) + line + steps(41, 200, 0, dated=False)
    assert "host.lost" == answer(first(text))[0]


def course(ranks: dict[int, list[float]], falls: tuple[float, ...] = ()) -> StepCourse:
    started = START.timestamp()
    rows = [
        (rank, Sample("training.step", 1.0, started + at, ()))
        for rank, times in ranks.items()
        for at in times
    ]
    return StepCourse.of(rows, [started + at for at in falls])


RHYTHM = [5.0 * number for number in range(200)]
LATER = [at + 60 for at in RHYTHM]
TWICE = [*RHYTHM[:10], *LATER[10:60], *(at + 60 for at in LATER[60:])]
COURSES = {
    "in rhythm": (course({0: RHYTHM}), True),
    "with the longest pause of before once more": (course({0: TWICE}), True),
    "after a pause as none before": (course({0: [*RHYTHM[:62], *LATER[62:]]}), False),
    "counted anew in each epoch": (course({0: RHYTHM}, falls=(320.0,)), True),
    "without a rank that was there": (course({0: RHYTHM, 1: RHYTHM[:60]}), False),
    "by a rank more": (course({0: RHYTHM, 1: RHYTHM[100:]}), True),
}


@pytest.mark.parametrize(("steps_of", "survived"), COURSES.values(), ids=COURSES)
def test_a_job_went_on_in_the_rhythm_and_with_the_ranks_of_before(steps_of, survived):
    assert survived is steps_of.went_on(START.timestamp() + 301, 360)


def test_a_command_that_failed_before_a_training_that_was_completed_is_no_cause(explain, tmp_path):
    failed = "srun: error: n7: task 0: Exited with exit code 1\n"
    trained = steps(1, 9, 0.0, dated=False)
    for log, fault in (
        (f"{failed}{trained}Training complete\n", None),
        (f"{failed}{trained}", "software.crash"),
        (f"{trained}Training complete\n{failed}", "software.crash"),
    ):
        (tmp_path / "job.log").write_text(log)
        assert fault == answer(explain(tmp_path).document())[0]


def test_no_step_is_due_once_a_log_says_that_its_training_is_complete(explain, tmp_path):
    for end, phases in (("Training complete\n", {"shutdown"}), ("", set())):
        (tmp_path / "job.log").write_text(steps(1, 60, 0) + end)
        events = explain(tmp_path).found.events
        assert phases == {one.attributes.get("phase") for one in events} - {None, "init"}
