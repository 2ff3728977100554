"""Log lines behind a progress bar that no line feed ended: each is read as a line of its own."""

from datetime import UTC

import pytest

from rankscope.formats import training_logs
from rankscope.formats.training_logs import behind_bars, launchers

from .launchers.test_reader import EXAMPLES

BARS = [
    " 16%|█▋        | 1044/6400 [1:16:09<1:07:04,  1.33it/s]",
    "[losses/total_loss: 1.34 | losses/value_loss: 8.65]:  16%|█| 1044/6400 [1:16:09<1:07:04, 1.33it/s]",
    "Epoch 3:  40%|████      | 40/100 [02:01<03:00,  3.03s/it, loss=0.25, v_num=7]",
    "  0%|          | 0/4386 [00:00<?, ?it/s]",
    "12it [00:05,  2.40batch/s]",
    "Downloading: 45%|####5     | 19.1M/42.8M [00:04<00:04, 5.00MB/s]",
    "Epoch 3/9 ━━━━━━━━━━━━━╸━━━━━━ 45/100 0:00:10 • 0:00:12 4.51it/s v_num: 0 loss: 1.2",
]
LOGGED = [
    "[2026-02-28 20:08:24,113] [INFO] [stage3.py:1769:step] [deepspeed] OVERFLOW! Rank 0 Skipping",
    "2026-02-28 20:08:24,113 - INFO - saved",
    "Traceback (most recent call last):",
    "E1128 00:18:55.369000 21591 torch/distributed/elastic/multiprocessing/api.py:1002] failed",
    "[rank3]: RuntimeError: it broke",
]
WORDS = [
    "[RANK 0] Collecting rollouts",
    "Killed",
    "srun: error: g7: task 3: Killed",
    "{'loss': 2.5}",
]
# ruff: noqa: E501  lines are as long as they are printed


@pytest.mark.parametrize("bar", [one.strip() for one in BARS])
@pytest.mark.parametrize("logged", LOGGED)
@pytest.mark.parametrize("blanks", ["", "     "])
def test_what_is_behind_a_bar_is_a_line_of_its_own(bar, logged, blanks):
    assert [bar, logged] == [one.strip() for one in _parted(bar.strip() + blanks + logged)]


@pytest.mark.parametrize("bar", BARS[:-1])
@pytest.mark.parametrize("logged", WORDS)
def test_words_without_a_head_are_one_too_where_the_bar_has_an_end(bar, logged):
    assert [bar, logged] == _parted(bar + logged)


@pytest.mark.parametrize("bar", BARS)
@pytest.mark.parametrize(
    "own", ["", "   ", " loss: 2.5", ", loss=2.5, lr=1e-5", " | train/loss = nan"]
)
def test_a_bar_alone_and_with_values_of_its_own_is_one_line(bar, own):
    assert [bar + own] == _parted(bar + own)


@pytest.mark.parametrize("line", [*LOGGED, *WORDS, "step 3 loss 2.5 at 1.3it/s [epoch 2]", ""])
def test_a_line_without_a_bar_is_one(line):
    assert [line] == _parted(line)


def test_bars_in_a_row_are_a_line_each():
    assert BARS[:6] == _parted("".join(BARS[:6]))


def test_values_of_the_bar_and_of_the_line_behind_it_are_read_both():
    bar = "train:   5%|5         | {}/200 [01:24<26:40:36, 84.50s/it, loss={}]"
    lines = [
        bar.format(step, 11.5 - step) + "[2026-02-28 20:08:24,113] [INFO] [deepspeed] OVERFLOW! "
        "Rank 0 Skipping step. Attempted loss scale: 1, reducing to 1"
        for step in range(1, 5)
    ]
    read = list(training_logs.read(lines, zone=UTC))
    assert [10.5, 9.5, 8.5, 7.5] == [
        sample.value for one in read for sample in one.samples if sample.metric == "training.loss"
    ]
    assert [(3, 1772309304.113)] == [
        (one.line, event.at) for one in read for event in one.events if event.name == "log.fault"
    ]


ONE_LINE = [
    one["lines"].strip() for one in EXAMPLES if one["reports"] and "\n" not in one["lines"].strip()
]


@pytest.mark.parametrize("line", ONE_LINE)
def test_what_a_launcher_says_is_read_behind_a_bar(line):
    alone = list(launchers.read([f"{line}\n".encode()], zone=UTC))
    assert alone == list(launchers.read([f"{BARS[0]}{line}\n".encode()], zone=UTC))


def _parted(line):
    return [one.decode() for one in behind_bars.parted(line.encode())]
