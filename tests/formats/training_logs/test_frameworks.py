"""Lines of every framework: which values they are, whose, and how a hidden NaN shows."""

# ruff: noqa: E501  lines are as long as they are printed

import math
from pathlib import Path

import pytest

from rankscope.formats import training_logs
from rankscope.vocabulary import events, metrics

CAPTURES = Path(__file__).parent / "captures"
AT = 1_787_000_000.0
MEGATRON = (
    " [2026-08-22 15:22:22.123456] iteration      100/  500000 | consumed samples:       102400 | "
    "elapsed time per iteration (ms): 10345.6 | throughput per GPU (TFLOP/s/GPU): 412.3 | learning "
    "rate: 1.500000E-04 | global batch size:  1024 |{} loss scale: 1.0 | grad norm: {} | num zeros: "
    "12 | params norm: 1234.567 | number of skipped iterations:   {} | number of nan iterations:   "
    "{} |"
)
TITAN = (
    "\x1b[32m[titan] 2026-08-21 21:30:{},123 - root - INFO - \x1b[31mstep: {}  \x1b[32mloss:  "
    "7.12345  \x1b[38;2;180;60;0mgrad_norm:  1.2345  \x1b[34mmemory: 40.12GiB(50.63%)  \x1b[39mtps: "
    "5,678  tflops: 300.12  mfu: 30.34%\x1b[39m"
)


def values(*lines, **more):
    """Return all values by metric, without `training.`, of the last line that has it."""
    return {
        sample.metric.removeprefix("training."): sample.value
        for logged in training_logs.read(lines, default_at=AT, **more)
        for sample in logged.samples
    }


LINES = {
    MEGATRON.format(" lm loss: 2.345678E+00 |", "0.512", 0, 0): {
        "step": 100, "loss": 2.345678, "grad_norm": 0.512, "learning_rate": 1.5e-4,
        "loss_scale": 1.0, "step.duration": 10.3456, "flops": 412.3e12, "skipped": 0,
        "nonfinite": 0,
    },
    "[2026-08-22 12:00:00,000] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=2, "
    "lr=[0.0001], mom=[(0.9, 0.999)]": {"step": 10, "skipped": 2, "learning_rate": 1e-4},
    "epoch=0/micro_step=10/global_step=10, RunningAvgSamplesPerSec=12.3, CurrSamplesPerSec=12.4, "
    "MemAllocated=10.5GB, MaxMemAllocated=20.2GB": {
        "step": 10, "throughput": 12.4, "memory.allocated": 10.5 * 2**30,
    },
    "[deepspeed] OVERFLOW! Rank 3 Skipping step. Attempted loss scale: 65536, reducing to 32768": {
        "loss_scale": 65536,
    },
    TITAN.format("21", "10"): {
        "step": 10, "loss": 7.12345, "grad_norm": 1.2345, "throughput": 5678, "flops": 300.12e12,
        "memory.reserved": 40.12 * 2**30,
    },
    "{'loss': 2.31, 'grad_norm': 0.54, 'learning_rate': 5e-05, 'epoch': 0.12}": {
        "loss": 2.31, "grad_norm": 0.54, "learning_rate": 5e-5,
    },
    "Steps:  10%|# | 100/1000 [00:10<01:30, 8.00it/s, lr=1e-5, step_loss=0.123]": {
        "step": 100, "step.duration": 0.125, "loss": 0.123, "learning_rate": 1e-5,
    },
    "08/22/2026 12:00:00 - INFO - __main__ - epoch: 1, step: 100, loss: 0.5312, lr: 0.1": {
        "step": 100, "loss": 0.5312,
    },
    "iter 100: loss 2.3456, time 123.45ms, mfu 30.12%": {
        "step": 100, "loss": 2.3456, "step.duration": 0.12345,
    },
    "step   100 | loss: 3.456789 | lr 6.0000e-04 | norm: 0.3456 | dt: 500.12ms | tok/sec: 1234.78": {
        "step": 100, "loss": 3.456789, "learning_rate": 6e-4, "grad_norm": 0.3456,
        "step.duration": 0.50012,
    },
    "step  100/19560 | loss 5.123456 (+1.23z)| norm 0.4512 (-0.5z)| lr 1.2e-04 | 3500.12 ms | "
    "45.1% bf16 MFU | 150000 tok/s": {
        "step": 100, "loss": 5.123456, "learning_rate": 1.2e-4, "grad_norm": 0.4512,
        "step.duration": 3.50012,
    },
    "Training epoch 0, iteration 99/999 | lr: 0.0003 | global_batch_size: 32 | global_step: 99 | "
    "reduced_train_loss: 11.03 | train_step_timing in s: 1.2 | consumed_samples: 3200": {
        "step": 99, "loss": 11.03, "learning_rate": 3e-4, "step.duration": 1.2,
    },
}  # fmt: skip


@pytest.mark.parametrize(("line", "expected"), LINES.items(), ids=lambda one: str(one)[:30])
def test_a_line_of_a_framework_has_its_values_in_the_units_of_the_vocabulary(line, expected):
    assert values(line) == pytest.approx(expected)


def test_every_sample_and_event_is_in_the_vocabulary():
    found = [one for line in LINES for one in training_logs.read([line], default_at=AT)]
    for logged in found:
        for sample in logged.samples:
            metric = metrics.catalogue()[sample.metric]
            names = {name for name, _ in sample.attributes}
            assert names <= {*metric.attributes, *metric.optional, "source", "quality"}
            assert ("source", "log") in sample.attributes
        for event in logged.events:
            assert set(event.attributes) <= set(events.catalogue()[event.name].attributes)
    assert len(found) > 5


def test_a_loss_that_megatron_leaves_out_beside_a_nan_is_a_nan():
    (logged,) = training_logs.read([MEGATRON.format("", "nan", 0, 1)], world_size=8)
    shown = {sample.metric: sample for sample in logged.samples}
    assert math.isnan(shown["training.loss"].value)
    assert shown["training.loss"].attributes == (
        ("rank", 7), ("scope", "global"), ("source", "log"),
    )  # fmt: skip
    assert shown["training.nonfinite"].value == 1
    assert [
        (one.name, one.attributes["what"], one.attributes["step"]) for one in logged.events
    ] == [
        ("training.numeric", "grad_reduced", 100),
        ("training.numeric", "loss", 100),
    ]


def test_a_loss_that_megatron_leaves_out_for_a_skipped_update_is_not_known():
    assert "loss" not in values(MEGATRON.format("", "0.5", 1, 0))


def test_a_loss_of_zero_beside_a_nan_gradient_norm_of_hugging_face_is_a_nan():
    """Its Trainer replaces NaN by the mean of what it had: here, nothing."""
    path = CAPTURES / "huggingface-5.23-plain.log"
    with path.open("rb") as lines:
        losses = [
            sample.value
            for logged in training_logs.read(lines, default_at=AT)
            for sample in logged.samples
            if sample.metric == "training.loss"
        ]
    assert losses[:6] == [1.247, 1.415, 1.035, 2.68, 0.9002, 0.7745]
    assert all(map(math.isnan, losses[6:]))


def test_lines_of_hugging_face_behind_a_progress_bar_are_read():
    with (CAPTURES / "huggingface-5.23-bar.log").open("rb") as lines:
        found = list(training_logs.read(lines, default_at=AT))
    assert [logged.line for logged in found] == list(range(1, 9))
    assert len({sample.at for logged in found for sample in logged.samples}) == 8


def test_the_bar_of_lightning_gives_each_batch_its_own_loss():
    """It is drawn twice a batch, first with the loss of the batch before."""
    with (CAPTURES / "lightning-2.6-tqdm.log").open("rb") as lines:
        found = [
            {sample.metric: sample.value for sample in logged.samples}
            for logged in training_logs.read(lines, default_at=AT)
        ]
    assert [(one["training.step"], one["training.loss"]) for one in found] == [
        (5, 0.178), (10, 0.296), (15, 0.119), (20, 0.0584), (25, 0.0736), (30, 0.143),
        (35, 0.0556), (40, 0.0331),
    ]  # fmt: skip


def test_a_bar_of_lightning_that_is_drawn_once_a_batch_is_read_as_well():
    """Its first three lines are lost: only the fourth shows that none is drawn again."""
    bar = "Epoch 0:  1%|x| {}/99 [00:01<10:00,  1.2it/s, v_num=3, train_loss={}]"
    lines = [bar.format(batch, 2 - batch / 10) for batch in range(1, 7)]
    found = training_logs.read([line.encode() for line in lines], default_at=AT)
    losses = [s.value for one in found for s in one.samples if s.metric == "training.loss"]
    assert losses == pytest.approx([1.6, 1.5, 1.4])


def test_the_step_time_of_torchtitan_follows_from_the_times_of_two_lines():
    shown = values(TITAN.format("21", "10"), TITAN.format("41", "20"))
    assert shown["step.duration"] == pytest.approx(2.0)


def test_skipped_updates_of_deepspeed_are_those_since_the_line_before():
    line = (
        "[2026-08-22 12:00:00,000] [INFO] [logging.py:96:log_dist] [Rank 0] step={}, skipped={}, "
        "lr=[0.0001], mom=[(0.9, 0.999)]"
    )
    assert values(line.format(10, 2), line.format(20, 5))["skipped"] == 3


def ranks(*lines, **more):
    return [
        dict(logged.samples[0].attributes).get("rank")
        for logged in training_logs.read(lines, default_at=AT, **more)
    ]


def test_the_rank_is_that_of_the_prefix_else_of_the_file_else_of_who_prints_in_the_framework():
    line = MEGATRON.format(" lm loss: 2.345678E+00 |", "0.512", 0, 0)
    loss = "{'loss': 2.31, 'epoch': 0.12}"
    assert ranks(f"[rank3]:{line}", rank=1, world_size=8) == [3]
    assert ranks(f"[1,5]<stdout>:{line}", world_size=8) == [5]
    assert ranks(line, rank=1, world_size=8) == [1]
    assert ranks(line, world_size=8) == [7]
    assert ranks(line) == [None]
    assert ranks(loss, world_size=8) == [0]


def test_a_local_rank_is_no_rank_unless_it_is_known_whose_it_is():
    line = "[default1]:{'loss': 2.31, 'epoch': 0.12}"
    assert ranks(line, local_ranks={0: 8, 1: 9}) == [9]
    parser = training_logs.TrainingLogParser()
    assert parser.feed(line.encode() + b"\n") == []
    assert parser.missed == {"rank": 1}


def test_a_container_runtimes_time_and_rays_prefix_are_read_past():
    line = (
        "2026-08-22T15:22:22.5Z stdout F (Worker pid=12, ip=10.0.0.1) {'loss': 2.31, 'epoch': 0.12}"
    )
    (logged,) = training_logs.read([line])
    assert logged.at == 1787412142.5


def test_a_line_without_a_time_has_the_callers_and_else_the_last_ones():
    stamped = MEGATRON.format(" lm loss: 2.345678E+00 |", "0.512", 0, 0)
    plain = "OSError: [Errno 116] Stale file handle"
    first, second = training_logs.read([stamped, plain], zone=None)
    assert second.at is None
    assert second.events[0].at == first.at
    (alone,) = training_logs.read([plain], default_at=5.0)
    assert (alone.at, alone.events[0].at) == (5.0, 5.0)


def test_steps_read_at_one_time_have_times_of_their_own():
    lines = [f"iter {step}: loss 2.3456, time 123.45ms" for step in range(50)]
    times = {
        sample.at for one in training_logs.read(lines, default_at=AT) for sample in one.samples
    }
    assert len(times) == 50
    assert max(times) - AT < 0.01


def test_a_step_that_is_reported_again_is_reported_once():
    line = "iter 7: loss 2.3456, time 123.45ms"
    assert len(list(training_logs.read([line, line], default_at=AT))) == 1


def test_the_format_of_a_log_is_the_first_that_has_a_loss():
    parser = training_logs.TrainingLogParser(rank=0)
    parser.feed(b"iter 7: loss 2.3456, time 123.45ms\n{'loss': 9.9, 'epoch': 0.12}\n", AT)
    assert parser.format == "nanogpt"
    assert parser.missed == {"form": 1}


OWN = {
    "contains": "metric ",
    "pattern": r"metric s=(?P<step>\d+) l=(?P<loss>\S+) t=(?P<step_duration>\d+);",
}


def test_a_format_of_ones_own_is_a_pattern_with_metrics_and_units():
    own = training_logs.own(
        "mine", contains=OWN["contains"], pattern=OWN["pattern"], units={"step_duration": "ms"}
    )
    formats = (own, *training_logs.shipped())
    shown = values("metric s=3 l=1.5 t=250;", formats=formats)
    assert shown == {"step": 3, "loss": 1.5, "step.duration": 0.25}


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"contains": "x"}, "3 characters"),
        ({"pattern": "("}, "pattern: "),
        ({"pattern": r"metric (?P<los>\d+)"}, "los is not a metric of training; there are step"),
        ({"pattern": r"metric \d+"}, "name the groups after metrics"),
        ({"units": {"step_duration": "parsec"}}, "parsec is not a unit of training.step.duration"),
        ({"units": {"tokens": "k"}}, "no group tokens"),
    ],
)
def test_a_format_of_ones_own_that_cannot_be_used_says_why(change, text):
    with pytest.raises(training_logs.FormatError) as caught:
        training_logs.own("mine", **{**OWN, **change})
    assert text in str(caught.value)
