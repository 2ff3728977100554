"""Several runs in one log: each ended by its own lines, whatever the others did."""

from datetime import UTC

import pytest

RAISED = """\
Traceback (most recent call last):
  File "/w/fit.py", line 31, in <module>
    batch = rows[key]
KeyError: 'target'
"""
FULL = """\
Traceback (most recent call last):
  File "/w/fit.py", line 40, in <module>
    loss.backward()
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity \
of 79.10 GiB of which 1.20 GiB is free.
"""
SHELL, SHELL_AGAIN = "me@n7:~/w$ python fit.py --bs 32\n", "me@n7:~/w$ python fit.py --bs 16\n"


def steps(count, first=1, stamp=""):
    return "".join(
        (f"{stamp}:{n:02}:00 " if stamp else "") + f"step {n} | loss {7 / (n + 1):.4f}\n"
        for n in range(first, first + count)
    )


@pytest.fixture
def document(explain, tmp_path):
    """Return a function that explains the text of one log."""

    def of(text):
        (tmp_path / "job.log").write_text(text)
        return explain(tmp_path, zone=UTC).document()

    return of


def told(document):
    """Return the first cause, and the quoted lines of causes."""
    lines = [one["line"] for one in document["leftovers"]["lines"] if one["role"] == "root"]
    return document["root_cause"]["hypotheses"][0]["fault"], lines


@pytest.mark.parametrize("again", [SHELL_AGAIN, "In [4]: fit(model)\n", ""],
                         ids=["shell", "notebook", "steps alone"])  # fmt: skip
def test_what_ended_the_first_run_is_told_where_the_next_one_is_healthy(document, again):
    assert ("software.crash", [12]) == told(document(steps(8) + RAISED + again + steps(20)))
    assert ("memory.gpu_oom", [12]) == told(document(steps(8) + FULL + again + steps(20)))


def test_the_same_holds_where_lines_have_times(document):
    first = steps(8, stamp="2026-11-02 10") + RAISED
    assert "software.crash" == told(document(first + steps(20, stamp="2026-11-02 12")))[0]


def test_the_end_of_the_last_run_is_told_and_not_that_of_the_one_before(document):
    text = SHELL + steps(8) + FULL + SHELL_AGAIN + steps(9) + RAISED
    assert ("software.crash", [27]) == told(document(text))
    text = SHELL + steps(8) + RAISED + SHELL_AGAIN + steps(9) + FULL
    assert ("memory.gpu_oom", [27]) == told(document(text))


def test_a_loss_that_the_last_run_lost_is_not_explained_by_the_end_of_the_first(document):
    lost = "".join(f"step {n} | loss nan\n" for n in range(9, 14))
    assert "unknown" == told(document(steps(8) + FULL + SHELL_AGAIN + steps(8) + lost))[0]


def test_what_a_shell_says_of_the_first_run_is_told_unless_the_next_one_ended_too(document):
    text = SHELL + steps(8) + "Killed\n" + SHELL_AGAIN + steps(20)
    assert ("software.crash", [10]) == told(document(text))
    assert [32] == told(document(text + "Segmentation fault (core dumped)\nme@n7:~/w$ \n"))[1]


def test_what_the_next_run_survived_is_no_end_of_it(document):
    text = steps(8) + FULL + SHELL_AGAIN + steps(8) + RAISED + steps(8, first=9)
    assert ("memory.gpu_oom", [12]) == told(document(text))


@pytest.mark.parametrize("text", [
    steps(8) + RAISED + steps(20, first=9),
    "".join(steps(6) + (RAISED if n == 2 else "") for n in range(6)),
    steps(20) + SHELL_AGAIN + steps(20), steps(20) + "\n" + steps(20),
], ids=["caught", "counts inside epochs", "a second run", "with no word of it"])  # fmt: skip
def test_what_a_run_survived_and_a_run_that_is_started_again_are_no_end(document, text):
    assert document(text) is None


def epochs(*values):
    return "".join(
        f"{{'loss': {loss:.4f}, 'grad_norm': 1.0, 'epoch': {n * 0.05:.2f}}}\n"
        for n, loss in enumerate(values, 1)
    )


def test_values_without_steps_are_not_compared_with_those_of_the_run_before(document):
    """The loss at the end of a run is far below that at the start of the next one: no spike."""
    fell = [4 * 0.85**n + 0.5 for n in range(20)]
    assert document(epochs(*fell) + SHELL_AGAIN + epochs(*fell)) is None
    assert document(epochs(*fell, *fell)) is not None  # where epochs go on it is one run
