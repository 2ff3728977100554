"""Logs with values of training alone: what is not finite is said with its line, else nothing."""

from datetime import UTC, datetime, timedelta

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
    lines = [
        form(step, 2.5 - step / 1000, "inf" if step in (1, 2, 30) else 1.25)
        for step in range(1, 41)
    ]
    assert explained(*lines).document() is None


def test_an_overflow_with_which_a_scaled_job_ends_is_quiet(explained):
    scale = 65536.0
    lines = []
    for step in range(1, 41):
        skipped = step in (1, 2, 40)
        scale /= 2 if skipped else 1
        lines.append(
            MEGATRON.format(
                step, 2.5 - step / 1000, scale, "inf" if skipped else 1.25, int(skipped)
            )
        )
    assert explained(*lines).document() is None


def test_steps_that_one_rank_prints_for_all_make_no_other_rank_silent(explained):
    started = [f"[rank{rank}]: INFO ready" for rank in range(4)]
    lines = [f"[rank0]: {plain(step, 2.5 - step / 1000, 1.25)}" for step in range(1, 41)]
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
                                               hugging_face(number, 2.5 - number / 1000, 1.25))],
])  # fmt: skip
def test_overflows_without_end_are_a_matter_of_precision(explained, end):
    lines = [overflow(number, 2 ** (6 - number)) for number in range(1, 6)]
    first = explained(*lines, *end).document()["root_cause"]["hypotheses"][0]
    assert "numerics.nan_precision" == first["fault"]


def on_a_bar(number, line):
    return f"loss: {4 - number / 8}:  1%|1     | {number}/6400 [1:16:09<1:07:04, 1.33it/s]{line}"


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
    lines += [hugging_face(step, 2.5 - step / 1000, 1.25) for step in range(60)]
    assert explained(*lines).document() is None


def test_a_script_that_gives_up_at_a_nan_did_not_crash_by_itself(explained):
    lines = [plain(step, 2.5 - step / 1000, 1.25) for step in range(1, 20)]
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


CAFFE = "I0611 10:{0:02}:09.519320 4711 solver.cpp:218] Iteration {1} (0.9 iter/s), loss = {2}"
RATE = "I0611 10:{0:02}:09.519461 4711 sgd_solver.cpp:105] Iteration {1}, lr = 0.01"


def caffe(step, loss):
    return [form.format(step // 10, step, loss) for form in (CAFFE, RATE)]


@pytest.mark.parametrize("before", [[], [4.61, 5.02]], ids=["always", "since then"])
def test_a_loss_at_the_end_of_its_scale_is_lost(explained, before):
    losses = [*before, *["87.3365"] * 4]
    lines = [line for n, loss in enumerate(losses) for line in caffe(500 + 10 * n, loss)]
    assert "numerics.divergence" == first_cause(explained(*lines))


def tutorial(every, losses):
    return [f"[{n // 6 + 1}, {every * (n % 6 + 1):5d}] loss: {x:.3f}" for n, x in enumerate(losses)]


def test_a_loss_that_stays_at_its_guess_through_reports_of_thousands_of_steps_is_told(explained):
    guess = [2.303 + 0.001 * (n % 3 - 1) for n in range(30)]
    assert "numerics.plateau" == first_cause(explained(*tutorial(2000, guess), "Finished Training"))


def test_one_that_falls_in_such_reports_is_quiet(explained):
    falls = [2.303 - 0.03 * n for n in range(30)]
    assert explained(*tutorial(2000, falls), "Finished Training").document() is None


def test_a_job_that_waits_for_data_most_of_each_step_is_told_so(explained):
    lines = [waiting(step, 31.0 if step == 1 else 8.9) for step in range(1, 10)]
    document = explained(*lines).document()
    assert "software.dataloader_slow" == document["root_cause"]["hypotheses"][0]["fault"]
    assert "warning" == document["severity"]


def test_a_slow_first_batch_is_quiet(explained):
    lines = [waiting(step, 31.0 if step == 1 else 0.05) for step in range(1, 10)]
    assert explained(*lines).document() is None


def meters(step, waits, *, stamped=""):
    """Return the line of a step in the meters of PyTorch's example: its own time and the mean."""
    own, mean = waits[step], sum(waits[: step + 1]) / (step + 1)
    return (
        f"{stamped}Epoch: [0][{step}/5005]\tTime {own + 0.15:.3f} ({mean + 0.15:.3f})\t"
        f"Data {own:.3f} ({mean:.3f})\tLoss 6.9{step % 7}02 (6.9083)\tPrec@1 0.000 (0.039)"
    )


IN_TURN = [21.0, *(31.0 if step % 4 == 2 else 0.001 for step in range(1, 40))]
"""Seconds that steps wait for a batch which four workers deliver in turn."""


@pytest.mark.parametrize("stamp", ["", "2026-03-01 10:{:02d}:{:02d} "])
@pytest.mark.parametrize("first", [0, 7])
def test_waits_at_every_few_steps_of_a_short_log_are_those_of_a_slow_loader(
    explained, stamp, first
):
    took = [sum(IN_TURN[: step + 1]) + step * 0.15 for step in range(40)]
    lines = [
        meters(step, IN_TURN, stamped=stamp.format(int(took[step] // 60), int(took[step] % 60)))
        for step in range(first, first + 20)
    ]
    document = explained(*lines).document()
    assert "software.dataloader_slow" == document["root_cause"]["hypotheses"][0]["fault"]
    assert "warning" == document["severity"]


WAITS = {
    "the first batch": [50.0, *[0.001] * 1100],
    "the first batches": [50.0, 20.0, 9.0, 4.0, *[0.001] * 40],
    "one pause": [3.0, *(70.0 if step == 11 else 0.001 for step in range(40))],
    "two pauses": [3.0, *(40.0 if step in (11, 13) else 0.001 for step in range(40))],
    "next to nothing": [3.0, *[0.06] * 40],
}


@pytest.mark.parametrize("first", [0, 7, 1000])
@pytest.mark.parametrize("waits", WAITS.values(), ids=WAITS)
def test_waits_that_do_not_come_again_are_quiet(explained, waits, first):
    lines = [meters(step, waits) for step in range(first, min(first + 18, len(waits)))]
    if lines:
        assert explained(*lines).document() is None


def iterations(seconds):
    """Return lines of MMCV, the mean time of a thousand iterations in each."""
    at, lines = datetime(2026, 6, 12, tzinfo=UTC), []
    for number, one in enumerate(seconds, 1):
        at += timedelta(seconds=1000 * one)
        lines.append(
            f"{at:%Y-%m-%d %H:%M:%S},439 - mmaction - INFO - Epoch [1][{number}000/19749]\t"
            f"lr: 1.000e-04, eta: 3 days, 2:36:17, time: {one:.3f}, data_time: 0.004, "
            f"memory: 19482, loss: {0.70 - number / 500:.4f}"
        )
    return lines


USUAL = [1.367, 1.382, 1.390, 1.369]


@pytest.mark.parametrize("slow", [[2.9, 4.4, 4.5, 4.6], [4.4, 4.5, 4.6, 4.55, 4.5, 4.4]])
@pytest.mark.parametrize("usual", [USUAL, USUAL * 2])
def test_steps_that_became_slow_are_told_in_few_lines(explained, usual, slow):
    document = explained(*iterations(usual + slow)).document()
    first = document["root_cause"]["hypotheses"][0]["fault"]
    assert "unknown" == first
    assert "job.slow" in {one["kind"] for one in document["symptoms"]}


@pytest.mark.parametrize("seconds", [
    [6.4, *USUAL, *USUAL],
    [*USUAL, 4.4, *USUAL],
    [*USUAL, *USUAL, 4.4, 4.5],
    [*USUAL, 1.5, 1.55, 1.6, 1.62, 1.7],
    [0.4, 0.47, 0.39, 0.4, 0.54, 0.54, 0.66, 0.66, 0.66, 0.81, 0.82, 0.82, 0.94, 0.93, 0.93],
    [0.4, 1.3, 0.9, 0.35, 0.8, 1.6, 1.1, 2.0, 1.4, 0.7],
])  # fmt: skip
def test_few_steps_that_differ_or_grow_little_by_little_are_quiet(explained, seconds):
    assert explained(*iterations(seconds)).document() is None


RETURNN = (
    "ep 4 train, step {}, ce 5.4{}, fer 0.8{}, mem_usage:cuda:{} 6.{}GB, {:.3f} sec/step, elapsed "
    "0:00:25, exp. remaining 0:12:10, complete 3.40%"
)


def steps_of_four(seconds):
    return [
        RETURNN.format(step, rank + step % 5, step % 7, rank, rank, one + rank / 500)
        for step, one in enumerate(seconds, 30)
        for rank in (3, 0, 2, 1)
    ]


def test_slow_steps_of_all_ranks_in_one_log_accuse_none(explained):
    document = explained(
        *steps_of_four([*[0.61, 0.6, 0.62, 0.6] * 2, *[3.2, 3.3, 3.4] * 3])
    ).document()
    first = document["root_cause"]["hypotheses"][0]
    assert ("unknown", "job") == (first["fault"], first["entity"]["type"])


def test_steps_of_all_ranks_that_take_what_they_took_are_quiet(explained):
    assert explained(*steps_of_four([0.61, 0.6, 0.62, 0.6] * 4)).document() is None


NORMS = [14.98, 9.78, 7.64, 92.1, 29.0, 5.21, 7.83, 7.79, 8.5, 8.12, 6.9, 7.2]


@pytest.mark.parametrize("form", [plain, megatron, hugging_face])
def test_a_single_norm_out_of_all_proportion_is_news(explained, form):
    norms = [9100.0 if step == 8 else norm for step, norm in enumerate(NORMS)]
    diagnosis = explained(*(form(step, 1.4, norm) for step, norm in enumerate(norms)))
    assert "numerics.gradient_explosion" == first_cause(diagnosis)
    assert "info" == diagnosis.document()["severity"]


@pytest.mark.parametrize("norms", [
    NORMS,
    [9100.0, 2500.0, 700.0, 200.0, 60.0, 20.0, 9.0, 8.0, 7.0, 8.0, 7.0, 7.5, 8.5, 7.7, 7.0, 7.2],
    [*NORMS[:6], 900.0, *NORMS[6:]],
    [0.01, 0.02, 0.05, 0.3, 1.5, 4.0, 7.0, 9.0, 8.0, 8.5, 8.2],
])  # fmt: skip
def test_norms_of_a_warm_up_are_quiet(explained, norms):
    assert (
        explained(*(plain(step, 1.4, norm) for step, norm in enumerate(norms))).document() is None
    )


YOLO = (
    "   {}/99     15.6G    {}     {}        39      1472:  14%|#| 150/1069 [05:26<09:38,  1.59it/s]"
)


@pytest.mark.parametrize("bad", ["nan     4.183       nan       nan", "0.09     nan     0.1"])
def test_a_bar_whose_columns_are_losses_is_explained_where_one_is_not_finite(explained, bad):
    first, _, others = bad.partition(" ")
    document = explained(YOLO.format(0, first, others.strip())).document()
    assert "unknown" == document["root_cause"]["hypotheses"][0]["fault"]
    assert "critical" == document["severity"]


def test_bars_whose_losses_fall_are_no_fault(explained):
    lines = [YOLO.format(epoch, 0.11 - epoch / 1000, "2.5  0.4") for epoch in range(20)]
    assert explained(*lines).document() is None


@pytest.mark.parametrize(
    "said", ["loss is exploding, aborting.", "[10:02]  Loss exploded to 912.5 at step 7!"]
)
def test_a_script_that_gives_up_over_its_loss_has_lost_it(explained, said):
    steps = [plain(step, 0.9 - step / 100, 0.1) for step in range(1, 7)]
    document = explained(*steps, plain(7, 912.5, 40.0), said).document()
    assert "numerics.divergence" == document["root_cause"]["hypotheses"][0]["fault"]


def test_one_that_went_on_below_has_not(explained):
    steps = [plain(step, 0.9 - step / 100, 0.1) for step in range(1, 13)]
    document = explained(*steps[:6], "WARNING: loss is exploding", *steps[6:]).document()
    assert document is None or "info" == document["severity"]


class TestMergedByRay:
    """What Ray prints of four ranks: one line in seconds, of whoever spoke last."""

    @staticmethod
    def merged(*lines):
        """Return lines of (rank, step, loss), each with how many others it stands for."""
        return [
            f"(Rank pid={9900 + rank}) rank {rank} step {step} loss {loss} grad_norm 1.25"
            + f" [repeated {more}x across cluster]" * (more > 0)
            for rank, step, loss, more in lines
        ]

    TIMEOUT = (
        "[rank3]:[E1128 19:31:32.000000000 ProcessGroupNCCL.cpp:632] [Rank 3] Watchdog caught "
        "collective operation timeout: WorkNCCL(SeqNum=61, OpType=ALLREDUCE, NumelIn=1, "
        "NumelOut=1, Timeout(ms)=600000) ran for 600010 milliseconds before timing out."
    )

    def test_a_rank_that_was_seen_long_ago_has_not_fallen_behind(self, explained):
        rows = [(0, 1, 2.49, 0), (0, 21, 2.29, 79), (3, 48, 2.12, 107), (3, 60, 2.0, 47)]
        said = explained(*self.merged(*rows), self.TIMEOUT).document()
        first = said["root_cause"]["hypotheses"][0]
        assert ("unknown", "job") == (first["fault"], first["entity"]["type"])

    def test_the_same_of_a_log_with_all_lines_names_it(self, explained):
        rows = [(rank, step, 2.5, 0) for step in range(1, 61) for rank in range(4)
                if rank or step <= 21]  # fmt: skip
        said = explained(*self.merged(*rows), self.TIMEOUT).document()
        first = said["root_cause"]["hypotheses"][0]
        assert [0] == first["entity"]["ranks"]

    def test_a_value_that_is_not_finite_is_that_of_its_rank(self, explained):
        rows = [(0, 1, 2.4, 0), (1, 6, "nan", 0), (3, 6, 1.9, 22)]
        said = explained(*self.merged(*rows)).document()
        first = said["root_cause"]["hypotheses"][0]
        assert ("numerics.nan_rank", [1]) == (first["fault"], first["entity"]["ranks"])


LOST_IN_AN_EPOCH = [
    "epoch: [2/9], batch: [{n}/700], lr: 0.001, train loss: {loss}",
    "epoch 2 [{n}/9000] loss: {loss}",
    "Epoch: 2, Batch idx: {n}, Loss: {loss}",
]


@pytest.mark.parametrize("form", LOST_IN_AN_EPOCH)
@pytest.mark.parametrize("bad", ["nan", "inf"])
def test_a_loss_that_is_lost_within_an_epoch_is_told(explained, form, bad):
    lines = [form.format(n=10 * n, loss=2.5 if n < 6 else bad) for n in range(1, 15)]
    assert "critical" == explained(*lines).document()["severity"]


@pytest.mark.parametrize("form", LOST_IN_AN_EPOCH[1:])
def test_a_loss_that_is_finite_again_within_its_epoch_is_not_told(explained, form):
    lines = [form.format(n=10 * n, loss="nan" if n == 6 else 2.5) for n in range(1, 15)]
    assert explained(*lines).incident is None
