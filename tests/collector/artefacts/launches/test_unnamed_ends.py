"""What is left where no launcher names who ended."""

import pytest
from tests.collector.artefacts.launches.launched_job import (
    ACTOR,
    CRASH,
    TABLE,
    TRACEBACK,
    cause,
    steps,
)


def test_one_rank_that_sigkill_ended_while_its_launcher_lived_is_critical(first):
    asked = (
        "W0513 12:00:40.981000 146 torch/distributed/elastic/multiprocessing/api.py:897] Sending "
        "process 14751 closing signal SIGTERM\n"
    )
    heard = "[rank: 1] Received SIGTERM: 15\n"
    document = first(steps(1) + asked + heard + TABLE.format(0, -9))
    assert ((CRASH, [0], "gpu-2"), "critical") == (cause(document), document["severity"])


def test_an_actor_of_ray_that_is_gone_is_a_crash_and_its_address_is_quoted(first):
    """Nothing says which rank it was: the address is all that is known of it."""
    document = first(ACTOR.format("The actor is dead because its worker process has died."))
    assert CRASH == document["root_cause"]["hypotheses"][0]["fault"]
    assert "10.0.0.6" in document["summary"]


@pytest.mark.parametrize(
    "end", ["died with <Signals.SIGKILL: 9>.", "returned non-zero exit status 1."]
)
def test_what_python_says_of_a_process_that_it_started_counts_where_nothing_else_does(first, end):
    raised = "subprocess.CalledProcessError: Command '['python', 'train.py']' " + end + "\n"
    above = 'Traceback (most recent call last):\n  File "/opt/launch.py", line 8, in <module>\n'
    assert CRASH == cause(first(above + raised))[0]
    document = first(TRACEBACK.format("") + above + raised)
    assert "ValueError: bad sample in shard 17" == document["leftovers"]["lines"][0]["text"]


ASKED = {
    "torchrun": "W0513 12:00:40.981000 146 torch/distributed/elastic/multiprocessing/api.py:897] "
    "Sending process 14751 closing signal SIGTERM\n",
    "torch.distributed.launch": "Killing subprocess 14750\nKilling subprocess 14751\n",
    "spawn": "Terminating process 14751 via signal SIGTERM\n",
    "Lightning": "[rank: 1] Received SIGTERM: 15\n",
    "transformers": "SIGTERM received, will request JIT checkpoint after 3s\n",
}


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_a_process_that_was_asked_to_end_without_a_reason_is_all_that_is_known(first, asked):
    document = first(steps(1) + asked)
    assert "unknown" == document["root_cause"]["hypotheses"][0]["fault"]
    assert asked.splitlines()[0] == document["leftovers"]["lines"][0]["text"]


def test_where_something_else_says_why_a_launcher_ended_them_that_is_the_cause(first):
    document = first(steps(1) + TRACEBACK.format("") + ASKED["torch.distributed.launch"])
    assert CRASH == document["root_cause"]["hypotheses"][0]["fault"]


EPOCHS = "".join(f"Epoch {n}: train loss {3 / n:.4f}\n" for n in range(1, 9))
MORE = "".join(f"Epoch {n}: train loss {3 / n:.4f}\n" for n in range(9, 17))


@pytest.mark.parametrize("end", [
    "Terminated", "[1]+  Terminated              nohup python fit.py",
    "zsh: terminated  python fit.py", "Hangup",
    "make: *** [fit] Error 143", "fit-1 exited with code 143", "[lost server]",
])  # fmt: skip
def test_who_was_told_to_end_did_not_crash(first, end):
    document = first(EPOCHS + end + "\n")
    assert "unknown" == document["root_cause"]["hypotheses"][0]["fault"]
    assert end in document["summary"]


@pytest.mark.parametrize("end", [
    "Bus error (core dumped)", "make: *** [Makefile:3: fit] Error 139",
    "fit-1 exited with code 134",
    "Process finished with exit code 137 (interrupted by signal 9: SIGKILL)",
    "fish: Job 1, 'python fit.py' terminated by signal SIGSEGV (Address boundary error)",
])  # fmt: skip
def test_a_signal_that_nobody_sends_by_wish_is_no_wish(first, end):
    assert first(EPOCHS + end + "\n")["root_cause"]["hypotheses"][0]["fault"] != "unknown"


@pytest.mark.parametrize("text", [
    EPOCHS + "Killed\n" + MORE, EPOCHS + "Training finished\nTerminated\n",
    EPOCHS + "[1]+  Done                    nohup python fit.py\n",
    EPOCHS + "Process finished with exit code 0\n",
], ids=["steps follow", "it was done", "in order", "code 0"])  # fmt: skip
def test_what_ended_beside_a_training_that_went_on_or_was_done_is_no_cause(first, text):
    assert first(text) is None
