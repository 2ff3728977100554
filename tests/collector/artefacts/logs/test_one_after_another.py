"""Logs of one job that was resumed, with no times in them or with: the loss before and after."""

from datetime import UTC

import pytest

BEFORE, AFTER = 0.91, 3.8
FORMS = {
    "transformers": (
        lambda n, x: f"{{'loss': '{x:.4f}', 'grad_norm': '0.75', 'learning_rate': '3e-07', 'epoch': '{0.01 * n:.4f}'}}",
        "  0%|          | 0/4386 [00:00<?, ?it/s]Resuming training from checkpoint-3050",
    ),
    "megatron": (
        lambda n, x: f" iteration {n * 10:8d}/  159576 | consumed samples: 31948800 | elapsed time per iteration (ms): 14188.2 | learning rate: 5.811E-05 | global batch size:  2048 | lm loss: {x:.6E} | loss scale: 1.0 | grad norm: 1.5 | number of skipped iterations:   0 | number of nan iterations:   0 |",
        " successfully loaded checkpoint from /ckpt [ t 0, p 0 ] at iteration 150",
    ),
    "fairseq": (
        lambda n, x: f"2026-08-22 15:{n:02d}:22 | INFO | train_inner | epoch 001:    {n * 100} / 9000 loss={x:.3f}, ppl=5200.1, num_updates={n * 100}, lr=1e-05, gnorm=2.345, loss_scale=128, train_wall=60, wall=70",
        "2026-08-22 15:14:52 | INFO | fairseq.trainer | Loaded checkpoint checkpoints/checkpoint_last.pt (epoch 2 @ 1400 updates)",
    ),
    "mmengine": (
        lambda n, x: f"2026/10/30 22:{n:02d}:57 - mmengine - INFO - Iter(train) [{n * 50 + 50}/90000]  lr: 1.9813e-04  eta: 2:44:49  time: 0.8826  data_time: 0.0040  memory: 1024  loss: {x:.4f}",
        "2026/10/30 22:14:58 - mmengine - INFO - resumed epoch: 1, iter: 750",
    ),
    "nanogpt": (
        lambda n, x: f"iter {n * 10}: loss {x:.4f}, time 1099.34ms, mfu 15.34%",
        "Resuming training from out",
    ),
    "own": (
        lambda n, x: f"[Loss] {x:.4f} | [step] {n * 10}",
        "Restored all states from the checkpoint at /ckpt/last.ckpt",
    ),
}  # fmt: skip
# ruff: noqa: E501  lines are as long as they are printed


@pytest.fixture
def cause(explain, tmp_path):
    """Return a function that writes logs, a list of lines each, and returns the first cause."""

    def explained(*logs):
        folder = tmp_path / "left"
        folder.mkdir(exist_ok=True)
        for number, lines in enumerate(logs, 1):
            (folder / f"run{number}.log").write_text("".join(f"{line}\n" for line in lines))
        document = explain(folder, zone=UTC).document()
        return document and document["root_cause"]["hypotheses"][0]["fault"]

    return explained


def runs(name, after, *, falls=0.0):
    form, resumed = FORMS[name]
    odd = (0.01, -0.008, 0.004, -0.012, 0.007)
    first = [form(n, BEFORE + falls * (15 - n) + odd[n % 5]) for n in range(15)]
    then = [form(n, after * (1 - 0.004 * (n - 15)) + odd[n % 5]) for n in range(15, 29)]
    return first, [resumed, *then]


@pytest.mark.parametrize("name", FORMS)
def test_a_loss_that_is_not_where_it_was_is_a_bad_resume(cause, name):
    assert "numerics.bad_resume" == cause(*runs(name, AFTER))


@pytest.mark.parametrize("name", FORMS)
def test_one_log_of_both_says_the_same(cause, name):
    first, then = runs(name, AFTER)
    assert "numerics.bad_resume" == cause([*first, *then])


@pytest.mark.parametrize("name", FORMS)
def test_a_job_that_resumed_where_it_stood_is_quiet(cause, name):
    assert cause(*runs(name, BEFORE)) is None


SWIFT = (
    '{{"loss": {:.5f}, "grad_norm": 0.31, "learning_rate": 4.1e-05, "epoch": {:.4f}, '
    '"global_step/max_steps": "{}/2000", "elapsed_time": "8h 8m 1s"}}'
)


@pytest.mark.parametrize(("level", "found"), [(0.94, "numerics.bad_resume"), (0.672, None)])
def test_the_same_steps_in_two_logs_are_compared_where_the_arguments_of_one_resume(
    cause, level, found
):
    """Nothing of before the checkpoint is there but what the steps had at first."""
    first, again = (
        [SWIFT.format(high + 0.004 * (n % 3), 0.001 * n, 700 + n) for n in range(1, 6)]
        for high in (0.668, level)
    )
    assert found == cause(first, ["resume_from_checkpoint: out/v1/checkpoint-700", *again])


def test_a_loss_that_rises_without_a_resume_is_none(cause):
    first, (_, *then) = runs("nanogpt", AFTER)
    assert "numerics.bad_resume" != cause([*first, *then])


def test_a_job_with_new_data_that_says_nothing_of_a_resume_is_quiet(cause):
    first, (_, *then) = runs("nanogpt", BEFORE * 1.05)
    assert cause([*first, "Epoch 2 begins", *then]) is None


def epochs(first, losses, data="data/dev.csv"):
    return [
        line
        for number, loss in enumerate(losses, first)
        for line in (
            f"Epoch {number} |   Training | Elapsed Time: 1:24:10 | Steps: 4125 | Loss: {loss:.6f}   ",
            f"Epoch {number} | Validation | Elapsed Time: 0:05:11 | Steps: 584 | Loss: {loss + 9:.6f} | Dataset: {data}",
            "-" * 80,
        )
    ]


LOADED = "I Loading best validating checkpoint from /ckpt/best_dev-804375"
FELL, ROSE, WENT_ON = [21.4, 20.9, 20.6], [34.1, 31.2, 30.4], [20.3, 20.1, 19.8]


@pytest.mark.parametrize("begins", [192, 0, 1])
@pytest.mark.parametrize("apart", [True, False])
def test_few_epochs_with_a_far_higher_loss_after_a_checkpoint_are_a_bad_resume(
    cause, begins, apart
):
    first, then = epochs(189, FELL), [LOADED, *epochs(begins, ROSE)]
    assert "numerics.bad_resume" == cause(*([first, then] if apart else [[*first, *then]]))


@pytest.mark.parametrize("begins", [192, 0])
@pytest.mark.parametrize("apart", [True, False])
def test_few_epochs_that_go_on_where_they_were_are_quiet(cause, begins, apart):
    first, then = epochs(189, FELL), [LOADED, *epochs(begins, WENT_ON)]
    assert cause(*([first, then] if apart else [[*first, *then]])) is None


def test_a_loss_that_differs_as_much_before_as_after_is_quiet(cause):
    assert cause(epochs(189, [21.4, 26.9, 20.6]), [LOADED, *epochs(0, [27.9, 27.1, 26.4])]) is None


@pytest.mark.parametrize("apart", [True, False])
def test_weights_of_a_checkpoint_and_other_data_are_no_resume(cause, apart):
    first, then = epochs(189, FELL), [LOADED, *epochs(0, ROSE, "other/dev.csv")]
    assert cause(*([first, then] if apart else [[*first, *then]])) is None


LOADING = "[INFO] llamafactory.data.loader:143 >> Loading dataset {}..."


@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize(("data", "found"), [("a.json", True), ("b.json", False)])
def test_data_that_are_named_before_a_resume_are_those_of_what_follows(cause, apart, data, found):
    first, then = runs("nanogpt", AFTER)
    first, then = [LOADING.format("a.json"), *first], [LOADING.format(data), *then]
    named = cause(*([first, then] if apart else [[*first, *then]]))
    assert found == (named == "numerics.bad_resume")


def test_steps_that_begin_anew_go_on_from_the_last_one(cause):
    first, (resumed, *_) = runs("nanogpt", AFTER)
    form = FORMS["nanogpt"][0]
    again = [form(n, AFTER * (1 - 0.004 * n)) for n in range(14)]
    assert "numerics.bad_resume" == cause([*first, resumed, *again])
    assert "numerics.bad_resume" == cause(first, [resumed, *again])
