"""A job that its launcher started again: what ended it is what came after the last start."""

from tests.collector.artefacts.launches.launched_job import (
    ACTOR,
    CRASH,
    PLACES,
    TABLE,
    TRACEBACK,
    cause,
    steps,
)

ASKED = (
    "W0513 {0} {1} torch/distributed/elastic/multiprocessing/api.py:1028] Sending process {2} "
    "closing signal SIGTERM\n"
)
FAILED = (
    "E0513 {0} {1} torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: {2}) "
    "local_rank: {3} (pid: {4}) of binary: python\n"
)
CUT = (
    "[rank{}]: RuntimeError: [/gloo/transport/tcp/pair.cc:553] Connection closed by peer "
    "[10.0.0.1]:2678\n"
)


def stepped(first, ends):
    """Return steps of rank 0, as torchtitan's lines: four a second, up from one."""
    return "".join(
        f"[rank0]:2026-05-13 12:00:{first + step // 4:02},{step % 4 * 250:03} - root - INFO - "
        f"step: {step}  loss:  2.1  grad_norm:  0.1000  memory:  0.50GiB(1.00%)  tps: 1,000  "
        "tflops: 1.00  mfu: 0.50%\n"
        for step in range(1, ends)
    )


def test_a_job_of_two_nodes_was_ended_by_what_came_after_its_restart(first):
    """A killed rank on node b was started again; then rank 0 raised, and node b lost its store."""
    node_a = (
        stepped(10, 20)
        + ASKED.format("12:00:15.100000", 31, 101)
        + ASKED.format("12:00:15.101000", 31, 102)
        + stepped(36, 24)
        + TRACEBACK.format("[rank0]: ")
        + CUT.format(1)
        + ASKED.format("12:00:43.100000", 31, 112)
        + FAILED.format("12:00:43.200000", 31, 1, 0, 14753)
        + TABLE.format(0, "1")
    )
    node_b = (
        ASKED.format("12:00:14.900000", 32, 201)
        + FAILED.format("12:00:15.000000", 32, -9, 1, 202)
        + CUT.format(2)
        + CUT.format(3)
        + ASKED.format("12:00:44.100000", 32, 211)
        + ASKED.format("12:00:44.101000", 32, 212)
    )
    document = first(**{"a.log": node_a, "b.log": node_b})
    fault, ranks, _ = cause(document)
    assert (CRASH, [0]) == (fault, ranks)
    evidence = document["root_cause"]["hypotheses"][0]["evidence"]
    assert "exit code 1" in {one["observed"] for one in evidence if one["signal"] == "process.exit"}
    assert 4 == document["impact"]["ranks"]
    assert "2026-05-13T12:00:41" == document["opened_at"][:19]


RAISED = "(TrainController pid=1) [Rank 1 Error Snippet]:\n"


def test_a_job_that_ray_started_again_and_that_trained_on_is_no_crash(first):
    """Ray Train 2.60 with FailureConfig(max_failures=1): a worker was killed once."""
    died = "The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR"
    again = PLACES.replace("24834", "24911").replace("24857", "24912")
    assert first(PLACES + steps(4) + RAISED + ACTOR.format(died) + again + steps(4)) is None


def test_what_fails_once_more_is_the_end_of_a_job_that_ray_started_again(first):
    died = "The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR"
    again = PLACES.replace("24834", "24911").replace("24857", "24912")
    second = ACTOR.replace("24857", "24912").format(died)
    log = PLACES + steps(4) + RAISED + ACTOR.format(died) + again + steps(4) + RAISED + second
    fault, ranks, _ = cause(first(log))
    assert (CRASH, [1]) == (fault, ranks)
