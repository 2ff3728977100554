"""Logs with values of training alone: what is not finite is said with its line, else nothing."""

from datetime import UTC

import pytest

HF = "{{'loss': {}, 'grad_norm': {}, 'memory/max_mem_active(gib)': 25.5, 'epoch': 0.1}}"
MEGATRON = (
    " iteration {:8d}/  250000 | consumed samples: 43408 | elapsed time per iteration (ms): 4247.9 "
    "| global batch size:     8 | lm loss: {} | loss scale: {} | grad norm: {} | number of skipped "
    "iterations:   {} | number of nan iterations:   0 |"
)


def hugging_face(step, loss, norm):
    return HF.format(loss, norm)


def megatron(step, loss, norm):
    return MEGATRON.format(step, loss, 1.0, norm, 0)


def plain(step, loss, norm):
    return f"step {step} loss {loss} grad_norm {norm} "


def verl(step, loss, norm):
    return f"step:{step} - actor/pg_loss:{loss} - actor/grad_norm:{norm} - x/y:1.0"


FORMS = [hugging_face, megatron, plain, verl]


@pytest.fixture
def explained(explain, tmp_path):
    def diagnosis(*lines):
        folder = tmp_path / "left"
        folder.mkdir()
        (folder / "job.log").write_text("".join(f"{line}\n" for line in lines))
        return explain(folder, zone=UTC)

    return diagnosis


def first_cause(diagnosis):
    return diagnosis.document()["root_cause"]["hypotheses"][0]["fault"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("steps", [1, 3, 40])
def test_a_log_that_ends_with_values_that_are_not_finite_is_explained_with_its_line(
    explained, form, steps
):
    bad = max(1, steps - 5)
    lines = [form(step, *(("nan", "nan") if step >= bad else (2.5, 1.25)))
             for step in range(1, steps + 1)]  # fmt: skip
    document = explained(*lines).document()
    first = document["root_cause"]["hypotheses"][0]["fault"]
    assert first == "unknown" or first.startswith("numerics.")
    assert document["severity"] == "critical"
    (quote,) = document["leftovers"]["lines"]
    assert (quote["line"], quote["text"]) == (bad, lines[bad - 1].strip())


@pytest.mark.parametrize("form", FORMS)
def test_a_norm_alone_that_is_not_finite_at_the_end_is_reported(explained, form):
    lines = [form(step, 2.5, "nan" if step > 34 else 1.25) for step in range(1, 41)]
    assert explained(*lines).document() is not None


@pytest.mark.parametrize("form", FORMS)
def test_a_healthy_log_is_quiet(explained, form):
    lines = [form(step, 2.5 - step / 1000, 1.25) for step in range(1, 41)]
    assert explained(*lines).document() is None


@pytest.mark.parametrize("form", FORMS)
def test_overflows_that_finite_steps_followed_are_quiet(explained, form):
    lines = [form(step, 2.5, "inf" if step in (1, 2, 30) else 1.25) for step in range(1, 41)]
    assert explained(*lines).document() is None


def test_an_overflow_with_which_a_scaled_job_ends_is_quiet(explained):
    scale = 65536.0
    lines = []
    for step in range(1, 41):
        skipped = step in (1, 2, 40)
        scale /= 2 if skipped else 1
        lines.append(MEGATRON.format(step, 2.5, scale, "inf" if skipped else 1.25, int(skipped)))
    assert explained(*lines).document() is None


def test_steps_that_one_rank_prints_for_all_make_no_other_rank_silent(explained):
    started = [f"[rank{rank}]: INFO ready" for rank in range(4)]
    lines = [f"[rank0]: {plain(step, 2.5, 1.25)}" for step in range(1, 41)]
    assert explained(*started, *lines).document() is None


def test_of_several_ranks_the_one_whose_loss_went_first_is_named(explained):
    lines = [
        f"[rank{rank}]: " + plain(step, "nan" if step > 30 + (rank != 2) else 2.5, 1.25)
        for step in range(1, 40)
        for rank in range(4)
    ]
    first = explained(*lines).document()["root_cause"]["hypotheses"][0]
    assert ("numerics.nan_rank", [2]) == (first["fault"], first["entity"]["ranks"])


def test_lines_of_an_unknown_form_are_said_to_be_there(explained):
    found = explained("step 1 loss 2.5", "step 2 loss 2.4", "step 3 the loss was 2.3").found
    (text,) = found.missing
    assert "1 line looks like training values of an unknown form: job.log:3: step 3" in text


def test_a_critic_that_is_not_finite_beside_a_finite_actor_is_explained_with_its_line(explained):
    lines = [f"{verl(step, -0.01, 0.5)} - critic/vf_loss:{'nan' if step > 9 else 1.5} - z:1"
             for step in range(1, 15)]  # fmt: skip
    document = explained(*lines).document()
    assert "critical" == document["severity"]
    assert 10 == document["leftovers"]["lines"][0]["line"]


@pytest.mark.parametrize("more", [
    "val/value_loss:nan", "critic/score/mean:nan", "aux_loss:nan",
])  # fmt: skip
def test_values_that_may_lack_are_quiet(explained, more):
    lines = [f"{verl(step, -0.01, 0.5)} - {more} - z:1" for step in range(1, 15)]
    assert explained(*lines).document() is None


def test_a_critic_that_is_not_finite_once_is_quiet(explained):
    lines = [f"{verl(step, -0.01, 0.5)} - critic/vf_loss:{'nan' if step == 9 else 1.5} - z:1"
             for step in range(1, 30)]  # fmt: skip
    assert explained(*lines).document() is None


def overflow(number, scale):
    return (
        f"[2025-06-07 22:{number:02d}:00,018] [INFO] [loss_scaler.py:190:update_scale] [deepspeed] "
        f"OVERFLOW! Rank 0 Skipping step. Attempted loss scale: {scale}, reducing to "
        f"{max(scale // 2, 1)}"
    )


MINIMUM = "Exception: Current loss scale already at minimum - cannot decrease scale anymore."
RAISED = ["Traceback (most recent call last):", '  File "/w/train.py", line 8, in <module>']


@pytest.mark.parametrize("end", [
    [*RAISED, MINIMUM],
    [f"[rank{rank}]: {line}" for rank in range(4) for line in [*RAISED, MINIMUM]],
    [line for number in range(20) for line in (overflow(20 + number, 1),
                                               hugging_face(number, 2.5, 1.25))],
])  # fmt: skip
def test_overflows_without_end_are_a_matter_of_precision(explained, end):
    lines = [overflow(number, 2 ** (6 - number)) for number in range(1, 6)]
    first = explained(*lines, *end).document()["root_cause"]["hypotheses"][0]
    assert "numerics.nan_precision" == first["fault"]


def on_a_bar(number, line):
    return f"loss: {number / 8}:  1%|1     | {number}/6400 [1:16:09<1:07:04, 1.33it/s]{line}"


def test_overflows_down_to_the_least_scale_behind_a_bar_are_a_matter_of_precision(explained):
    falls = [on_a_bar(number, overflow(number, 2 ** (8 - number))) for number in range(1, 8)]
    assert "numerics.nan_precision" == first_cause(explained(*falls))


@pytest.mark.parametrize(("least", "after"), [(2, 1), (1, 30)])
def test_overflows_behind_a_bar_after_which_training_goes_on_are_quiet(explained, least, after):
    scales = [2**power for power in range(7, -1, -1) if 2**power > least]
    falls = [on_a_bar(number, overflow(number, one)) for number, one in enumerate(scales, 1)]
    more = [on_a_bar(number, "") for number in range(9, 9 + after)]
    assert explained(*falls, *more).document() is None


@pytest.mark.parametrize("least", [7, 0])
def test_overflows_after_which_training_goes_on_are_quiet(explained, least):
    lines = [overflow(17 - power, 2**power) for power in range(16, least, -1)]
    lines += [overflow(18 + number, 1) for number in range(0 if least else 3)]
    lines += [hugging_face(step, 2.5, 1.25) for step in range(60)]
    assert explained(*lines).document() is None


def test_a_script_that_gives_up_at_a_nan_did_not_crash_by_itself(explained):
    lines = [plain(step, 2.5, 1.25) for step in range(1, 20)]
    failed = "failed (exitcode: 1) local_rank: 0 (pid: 11) of binary: /usr/bin/python"
    launcher = "E0607 22:40:01.000000 1 torch/distributed/elastic/multiprocessing/api.py:870]"
    end = ["Loss is nan, stopping training", f"{launcher} {failed}"]
    first = explained(*lines, *end).document()["root_cause"]["hypotheses"][0]
    assert "software.crash" != first["fault"]


def own_form(step, loss):
    return f"[R0] | E{step} iter[ 14/ 15] | [Loss] {loss} | [step] {15 * step + 14:5d} | [url] none"


def test_a_loss_that_grew_over_orders_of_magnitude_and_went_is_a_divergence(explained):
    losses = [902.5, 871.25, 1210.5, 9120.75, 411203.5, 51566519.5, "nan", "nan", "nan"]
    lines = [own_form(step, loss) for step, loss in enumerate(losses)]
    assert "numerics.divergence" == first_cause(explained(*lines))


@pytest.mark.parametrize("form", [plain, megatron, hugging_face])
def test_a_spike_in_the_few_lines_of_a_log_is_told_for_information(explained, form):
    losses = [2.961, 2.957, 2.963, 2.955, 2.959, 3.127, 6.81, 8.044, 7.902, 7.711]
    diagnosis = explained(*(form(step, loss, 1.25) for step, loss in enumerate(losses, 1)))
    assert "numerics.loss_spike" == first_cause(diagnosis)
    assert "info" == diagnosis.document()["severity"]


def waiting(step, data):
    took = data + 0.5
    return (
        f"Train Epoch: 0 [{step * 4096:7d}/2905954 (0%)] Data (t): {data:.3f} "
        f"Batch (t): {took:.3f}, "
        f"112.518/s LR: 0.000000 Logit Scale: 14.286 Loss: {8.5 - step / 10:.4f} (8.4025)"
    )


def test_a_job_that_waits_for_data_most_of_each_step_is_told_so(explained):
    lines = [waiting(step, 31.0 if step == 1 else 8.9) for step in range(1, 10)]
    document = explained(*lines).document()
    assert "software.dataloader_slow" == document["root_cause"]["hypotheses"][0]["fault"]
    assert "warning" == document["severity"]


def test_a_slow_first_batch_is_quiet(explained):
    lines = [waiting(step, 31.0 if step == 1 else 0.05) for step in range(1, 10)]
    assert explained(*lines).document() is None
