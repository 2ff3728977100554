"""Interrupts by hand: what a process stood in when somebody gave up on it."""

from datetime import UTC

import pytest
from tests.collector.artefacts.test_always_an_answer import said

STEPS = "".join(f"step {step} loss {3.0 - step / 100:.3f}\n" for step in range(1, 9))
DATED = "".join(
    f"[2026-05-13 12:{minute:02}:00] iteration {minute}/ 900 | lm loss: {3 - minute / 50:.2f} |\n"
    for minute in range(1, 9)
)
BARS = "".join(f"train: 50%|#####     | {n}/90 [00:{n:02}<00:45, 1.0it/s]\n" for n in (43, 44, 45))
STOOD = "train: 50%|#####     | 45/90 [12:40<12:40, 16.9s/it]\n"
TOLD = "The training simply hangs after the third step.\n"
LATER = "[2026-05-13 12:50:00] srun: interrupt (one more within 1 sec to abort)\n"

CALLS = {
    "queue": ("torch/utils/data/dataloader.py", "_try_get_data"),
    "reads": ("torch/utils/data/_utils/fetch.py", "fetch"),
    "collective": ("torch/distributed/distributed_c10d.py", "all_reduce"),
    "save": ("torch/serialization.py", "save"),
    "setup": ("torch/distributed/rendezvous.py", "_env_rendezvous_handler"),
    "lock": ("torch/utils/file_baton.py", "wait"),
    "compute": ("model.py", "forward"),
}


def interrupt(where, prefix=""):
    file, name = CALLS[where]
    lines = [
        "Traceback (most recent call last):",
        '  File "run.py", line 9, in <module>',
        f'  File "/opt/{file}", line 12, in {name}',
        '  File "/opt/python/threading.py", line 320, in wait',
        "KeyboardInterrupt",
    ]
    return "".join(f"{prefix}{line}\n" for line in lines)


@pytest.fixture
def answer(explain, tmp_path):
    """Return a function that gives cause and severity of a log, or None."""

    def run(text):
        (tmp_path / "job.log").write_text(text)
        diagnosis = explain(tmp_path, zone=UTC)
        if diagnosis.incident is None:
            return None
        return said(diagnosis)[0], diagnosis.incident["severity"]

    return run


@pytest.mark.parametrize("where", ["queue", "reads"])
@pytest.mark.parametrize("silence", [BARS + STOOD, TOLD + STEPS])
def test_who_stood_in_a_wait_for_data_for_long_lacked_data(answer, where, silence):
    assert ("software.dataloader_slow", "warning") == answer(silence + interrupt(where))


def test_the_times_of_lines_around_it_say_how_long_it_was(explain, tmp_path):
    (tmp_path / "job.log").write_text(DATED + interrupt("queue") + LATER)
    diagnosis = explain(tmp_path, zone=UTC)
    assert "no step has ended for 2520 s" in diagnosis.document()["leftovers"]["lines"][-1]["text"]


def test_a_wait_for_the_queue_of_a_loader_is_news_where_nothing_says_how_long_it_was(answer):
    assert ("software.dataloader_slow", "info") == answer(STEPS + interrupt("queue"))


@pytest.mark.parametrize("where", ["reads", "collective", "save", "compute", "setup", "lock"])
def test_an_end_by_hand_anywhere_else_is_none(answer, where):
    assert answer(STEPS + interrupt(where)) is None


def test_long_computing_is_no_wait(answer):
    assert ("unknown", "info") == answer(BARS + STOOD + interrupt("compute"))


def test_a_bar_that_goes_on_as_before_stood_nowhere(answer):
    assert ("unknown", "info") == answer(BARS + interrupt("reads"))


def test_a_process_that_stood_in_a_save_for_long_is_one_of_a_stall(answer):
    assert "software.checkpoint_stall" == answer(BARS + STOOD + interrupt("save"))[0]


def test_of_one_process_in_a_collective_nobody_knows_whom_it_waited_for(answer):
    assert ("unknown", "warning") == answer(BARS + STOOD + interrupt("collective"))


def test_of_ranks_that_stood_the_one_outside_the_collective_is_stuck(explain, tmp_path):
    ranks = "".join(
        interrupt("reads" if rank == 1 else "collective", f"[rank{rank}]: ") for rank in range(4)
    )
    (tmp_path / "job.log").write_text(BARS + STOOD + ranks)
    assert ("software.stuck_process", "rank", "1") == said(explain(tmp_path))


def test_ranks_of_a_job_at_work_may_be_anywhere(answer):
    ranks = "".join(
        interrupt("reads" if rank == 1 else "collective", f"[rank{rank}]: ") for rank in range(4)
    )
    assert answer(STEPS + ranks) is None


@pytest.mark.parametrize("where", ["setup", "lock"])
def test_a_start_that_was_given_up_in_its_set_up_waited_for_that(answer, where):
    assert "software.init_failed" == answer("Starting\n" + interrupt(where))[0]


def test_an_interrupt_that_steps_followed_ended_nothing(answer):
    assert answer(BARS + STOOD + interrupt("queue") + STEPS + STEPS) is None


def test_a_fault_that_a_line_tells_goes_before_where_its_process_stood(answer):
    full = "OSError: [Errno 28] No space left on device\n"
    assert "software.dataloader_slow" != answer(BARS + STOOD + full + interrupt("queue"))[0]
