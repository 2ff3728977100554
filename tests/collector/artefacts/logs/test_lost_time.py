"""Time that is lost in saves and in waits for data, where a log shows much of it."""

import pytest
from tests.collector.artefacts.test_always_an_answer import said

from rankscope.collector.artefacts.logs import lost_time
from rankscope.vocabulary.samples import Event


def saves(*pairs):
    return [
        Event("training.save", at, {"state": state})
        for begin, end in pairs
        for at, state in ((begin, "begins"), (end, "ends"))
    ]


def test_two_saves_that_take_a_third_of_the_time_between_them_are_told():
    text = lost_time.saving(saves((0, 200), (800, 1100)), [4.0] * 9, [-50.0, 1200.0])
    assert text.startswith("saves take up to 300 s, and 33% of the time")


def test_one_long_save_is_told_by_what_the_log_shows():
    assert "400 s" in lost_time.saving(saves((500, 900)), [4.0] * 9, [0.0, 1000.0])


@pytest.mark.parametrize(("pairs", "step", "ends"), [
    (((0, 200), (2000, 2300)), 4.0, (0.0, 2400.0)),
    (((0, 40), (60, 100)), 4.0, (0.0, 120.0)),
    (((0, 200), (500, 700)), 40.0, (0.0, 800.0)),
    (((500, 700),), 4.0, (0.0, 800.0)),
    ((), 4.0, (0.0, 800.0)),
], ids=["seldom", "short", "as long as a few steps", "one", "none"])  # fmt: skip
def test_saves_that_cost_little_are_not(pairs, step, ends):
    assert lost_time.saving(saves(*pairs), [step] * 9, ends) == ""


def waits(*seconds, step=0.5):
    times = [(float(n), one) for n, one in enumerate(seconds)]
    return lost_time.waiting(times, [(at, one + step) for at, one in times])


def test_steps_that_wait_now_and_then_for_much_of_the_time_are_told():
    text = waits(0.1, 0.1, 0.1, 9.0, 0.1, 0.1, 12.0, 0.1, 0.1, 8.0, 0.1)
    assert text.startswith("3 of 10 lines show waits of up to 12.0 s")


@pytest.mark.parametrize("seconds", [
    [0.1] * 12,
    [9.0, *[0.1] * 11],
    [0.1, 0.1, 9.0, *[0.1] * 9],
    [0.1, 0.1, 9.0, 0.1, 12.0, *[0.1] * 9],
    [50.0, 20.0, 9.0, 4.0, *[0.1] * 9],
    [0.1, 9.0, 9.0, *[0.1] * 3],
    [*[0.1] * 6, 0.9, 0.9, *[0.1] * 6],
], ids=["none", "first", "one", "two", "first ones", "too few lines", "a little"])  # fmt: skip
def test_waits_that_say_little_are_not(seconds):
    assert waits(*seconds) == ""


ROW = (
    "[2026-05-13 12:{:02}:{:02}] iteration {}/ 900 | elapsed time per iteration (ms): 5000 | "
    "lm loss: {:.2f} |\n"
)


def log(minutes):
    lines, second = [], 0
    for n in range(1, 25):
        second += 5
        lines.append(ROW.format(second // 60, second % 60, n, 3 - n / 20))
        if n % 8 == 0:
            begin = f"[2026-05-13 12:{second // 60:02}:{second % 60:02}]"
            second += 60 * minutes
            end = f"[2026-05-13 12:{second // 60:02}:{second % 60:02}]"
            lines += [f"{begin} saving checkpoint at iteration {n} to /c\n",
                      f"{end}  successfully saved checkpoint at iteration {n}\n"]  # fmt: skip
    return "".join(lines)


def test_a_log_whose_saves_take_minutes_each_is_one_of_a_stall(explain, tmp_path):
    (tmp_path / "job.log").write_text(log(3))
    assert "software.checkpoint_stall" == said(explain(tmp_path))[0]


def test_one_whose_saves_take_no_time_is_healthy(explain, tmp_path):
    (tmp_path / "job.log").write_text(log(0))
    assert explain(tmp_path).document() is None


FORM = "pass {}; rtime {:.2f}; itime {:.2f}; score = {:.4f}\n"


def read(waits):
    return "".join(FORM.format(n, wait, wait + 1, n / 90) for n, wait in enumerate(waits, 1))


NOW_AND_THEN = [0.1, 0.1, 40.0, 0.1, 0.1, 35.0, 0.1, 0.1, 50.0, 0.1, 0.1]


ALWAYS = [3.0, 3.0, 3.0, 3.0, 30.0, 3.0] * 2


@pytest.mark.parametrize("waits", [NOW_AND_THEN, ALWAYS], ids=["now and then", "always"])
def test_a_log_of_a_form_of_its_own_whose_steps_wait_lacks_data(explain, tmp_path, waits):
    (tmp_path / "job.log").write_text(read(waits))
    diagnosis = explain(tmp_path)
    assert "software.dataloader_slow" == said(diagnosis)[0]
    (quote,) = diagnosis.document()["leftovers"]["lines"]
    assert 1 + waits.index(max(waits)) == quote["line"]


@pytest.mark.parametrize("waits", [[0.3] * 12, [40.0, *[0.1] * 11]], ids=["little", "first"])
def test_one_whose_steps_hardly_wait_says_nothing_of_it(tmp_path, waits):
    assert lost_time.read(read(waits).splitlines()) is None
