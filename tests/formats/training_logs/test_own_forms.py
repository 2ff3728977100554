"""Lines that no table knows, as frameworks print them: read once they bear each other out."""

# ruff: noqa: E501  lines are as long as they are printed

import math

import pytest

from rankscope.formats import training_logs
from rankscope.formats.training_logs.learned import fields, names

AT = 1_787_000_000.0
COUNT = 12

FORMS = {
    "espnet": lambda n, x: f"[gpu01] 2026-05-04 12:{n:02d}:22,123 (trainer:732) INFO: 1epoch:train:{n * 100 + 1}-{n * 100 + 100}batch: iter_time=0.152, loss_ctc={x * 1.5:.3f}, acc=0.120, loss={x:.3f}, optim0_lr0=1.250e-06, train_time=2.100",
    "icefall": lambda n, x: f"2026-04-20 10:{n:02d}:05,123 INFO [train.py:800] (0/8) Epoch 1, batch {n * 50}, loss[loss={x:.4f}, simple_loss={2 * x:.3f}, over 4992.00 frames. ], tot_loss[loss={x + 1:.4f}, simple_loss={2 * x:.3f}, over 250000.00 frames. ], batch size: 20, lr: 3.00e-03",
    "speechbrain": lambda n, x: f"epoch: {n + 1}, lr: 1.00e+00, steps: {n * 100} - train loss: {x:.2e} - valid loss: {x + 0.5:.2e}, valid PER: 40.50",
    "wenet": lambda n, x: f"2026-01-01 10:{n:02d}:00,123 DEBUG TRAIN Batch 0/{n * 100 + 100} loss {x:.6f} loss_att {x * 1.2:.6f} lr 0.00001000 rank 0",
    "cosyvoice": lambda n, x: f"2026-07-10 10:{n:02d}:00,123 DEBUG TRAIN Batch 1/{n * 100 + 100} loss {x:.6f} acc 0.123456 lr 0.00001000 grad_norm 1.234567 rank 0",
    "kohya": lambda n, x: f"steps:   1%|.         | {n * 16 + 16}/1600 [00:30<49:30,  1.88s/it, avr_loss={x:.3f}]",
    "diffusers": lambda n, x: f"Steps:  10%|#         | {n * 10 + 10}/1000 [01:00<09:00,  1.60it/s, lr=1e-5, step_loss={x:.3f}]",
    "ultralytics": lambda n, x: f"      {n + 1}/100      2.61G      {x:.4g}      1.398      1.192         81        640: 100%|##########| 8/8 [00:02<00:00,  3.80it/s]",
    "paddle": lambda n, x: f"[09/13 11:{n:02d}:01] ppdet.engine INFO: Epoch: [0] [{n * 20 + 20:3d}/500] learning_rate: 0.000200 loss_xy: 4.200000 loss: {x:.6f} eta: 1:20:00 batch_cost: 0.5010 data_cost: 0.0010 ips: 15.9681 images/s",
    "imagenet": lambda n, x: f"Epoch: [0][{n * 10 + 10:4d}/5005]\tTime  0.500 ( 0.800)\tData  0.100 ( 0.300)\tLoss {x:.4e} ({x + 1:.4e})\tAcc@1   0.39 (  0.10)",
    "mnist": lambda n, x: f"Train Epoch: 1 [{n * 640 + 640}/60000 ({n}%)]\tLoss: {x:.6f}",
    "open_clip": lambda n, x: f"2026-10-22,18:{n:02d}:58 | INFO | Train Epoch: 0 [{n * 4096 + 4096:7d}/2905954 ({n}%)] Data (t): 0.114 Batch (t): 0.402, 112.518/s, 7.03240/s/gpu LR: 0.000000 Logit Scale: 14.286 Contrastive_loss: {x:.4f} ({x:.4f}) Loss: {x:.4f} ({x:.4f})",
    "timm": lambda n, x: f"Train: 0 [{n * 50 + 50:4d}/1251 ({n:3d}%)]  Loss: {x:.4g} ({x:.2f})  Time: 0.512s, 2000.00/s  (0.600s, 1800.00/s)  LR: 1.000e-06  Data: 0.010 (0.100)",
    "swin": lambda n, x: f"[2026-01-01 10:{n:02d}:00 swin_tiny](main.py 220): INFO Train: [0/300][{n * 10 + 10}/1251]\teta 1:00:00 lr 0.000001\ttime 0.5000 (0.6000)\tloss {x:.4f} ({x:.4f})\tgrad_norm 1.2000 (1.3000)\tmem 8000MB",
    "fairseq2": lambda n, x: f"[2026-06-01 10:{n:02d}:00,123] [INFO] [fairseq2.recipes] Train Metrics (step {n * 10 + 10}) - CTC Loss: {x:.4f} | Elements per Second: 1,234 | Gradient Norm: 1.2",
    "nnunet": lambda n, x: f"2026-01-01 10:{n:02d}:00.123456: Epoch {n}\n2026-01-01 10:{n:02d}:40.123456: train_loss {x:.4f}\n2026-01-01 10:{n:02d}:40.223456: val_loss {x + 1:.4f}\n2026-01-01 10:{n:02d}:40.423456: Epoch time: 39.2 s",
    "monai": lambda n, x: f"{n + 1}/40, train_loss: {x:.4f}",
    "ignite": lambda n, x: f"INFO:ignite.engine.engine.SupervisedTrainer:Epoch: 1/5, Iter: {n + 1}/40 -- train_loss: {x:.4f} ",
    "gluonts": lambda n, x: f"100%|##########| 50/50 [00:05<00:00,  9.00it/s, epoch={n + 1}/10, avg_epoch_loss={x:.2f}]",
    "keras": lambda n, x: f"{n * 10 + 1:3d}/500 [===>..........................] - ETA: 7s - loss: {x:.4f} - accuracy: 0.5000",
    "keras 3": lambda n, x: f"\x1b[1m{n * 10 + 1:3d}/500\x1b[0m \x1b[1m1:20\x1b[0m 163ms/step - accuracy: 0.1000 - loss: {x:.4f}",
    "estimator": lambda n, x: f"INFO:tensorflow:loss = {x:.6f}, step = {n * 100} (12.345 sec)",
    "clu": lambda n, x: f"I0101 10:{n:02d}:00.123456 1234 logging_writer.py:48] [{n * 100}] accuracy=0.101, learning_rate=0.001, loss={x:.6f}, z_loss=0.1",
    "levanter": lambda n, x: f"2026-03-01T10:{n:02d}:00 - 0 - tqdm_loggable.tqdm_logging - tqdm_logging.py:145 - INFO :: Progress on:train {n * 10 + 10}it/10.0kit rate:1.2it/s remaining:1:37:00 elapsed:00:13:21 postfix:loss={x:.3f}",
    "h2o": lambda n, x: f"train loss: {x:.2f}:  {n + 1}%|.         | {n * 5 + 5}/500 [00:10<10:00,  1.20s/it]",
    "opennmt": lambda n, x: f"[2026-01-01 10:{n:02d}:00,123 INFO] Step {n * 50 + 50}/100000; acc:   5.30; ppl: 1234.50; xent: {x:.2f}; lr: 0.00001; bsz: 3000/2900/10; 12000/12300 tok/s;     10 sec;",
    "marian": lambda n, x: f"[2026-01-01 10:{n:02d}:00] Ep. 1 : Up. {n * 100 + 100} : Sen. {n * 6000 + 60000:,} : Cost {x:.8f} * 1,000,000 : Time 100.00s : 10000.00 words/s",
    "caffe": lambda n, x: f"I0101 10:{n:02d}:00.123456  1234 solver.cpp:228] Iteration {n * 100} (2.5 iter/s, 40s/100 iters), loss = {x:.5f}",
    "deepspeed-chat": lambda n, x: f"Epoch: 0 | Step: {n * 10} | PPO Epoch: 1 | Actor Loss: {x:.6f} | Critic Loss: 3.1 | Unsupervised Loss: 0.0",
    "coqui": lambda n, x: f"   --> TIME: 2026-01-01 10:{n:02d}:00 -- STEP: {n * 25}/1000 -- GLOBAL_STEP: {n * 25}\n     | > loss: {x:.5f}  ({x + 1:.5f})\n     | > step_time: 0.50000  (0.6)",
    "rsl_rl": lambda n, x: f"          Learning iteration {n}/1500\n\n   Computation: 12345 steps/s (collection: 1.2s, learning 0.3s)\n   Value function loss: {x:.4f}\n   Mean action noise std: 1.00",
    "stable-baselines3": lambda n, x: f"| time/                   |             |\n|    iterations           | {n + 1}           |\n| train/                  |             |\n|    loss                 | {x:.3g}        |\n|    n_updates            | {n * 10}        |",
    "brackets": lambda n, x: f"2026-01-25 00:{n:02d}:26.744 | INFO     | trainers.base:train_epochs:256 - [R0] | E{n} iter[ 14/ 15] | [Loss] {x:.2f} | [exp] ./e/car | [step] {15 * n + 14:5d} | [url] none | [time] 0.5m (~6h) |[best] 0 -100.000x1e-2 ",
    "gan": lambda n, x: f"[Epoch 1/200] [Batch {n * 10}/938] [D loss: {x:.6f}] [G loss: 3.2]",
    "yolov7": lambda n, x: f"     {n}/99     15.6G    {x:.4g}     2.552    0.4747     3.139       540       768: 100%|####| 234/234 [01:24<00:00,  2.77it/s]",
    "fastai": lambda n, x: f"{n}         {x:.6f}    {x + 0.1:.6f}    0.9000    00:12",
    "lightning csv": lambda n, x: f"0,{n * 50 + 49},{x:.5f}",
    "notebook": lambda n, x: f"{n * 10 + 10}\t{x:.6f}",
    "sockeye": lambda n, x: f"[2026-01-01:10:{n:02d}:00:INFO:sockeye.training:log] Epoch[0] Batch [{n * 50 + 50}] Speed: 500.10 samples/sec 1.5 updates/sec\tperplexity={x:.4f}",
    "nll": lambda n, x: f"[2026-01-01 10:{n:02d}:00,123][train][INFO] - iter={n * 10} nll={x:.4f} bits_per_dim=3.2 lr=0.001",
    "transformers 5": lambda n, x: f"{{'loss': '{x:.4f}', 'grad_norm': '1.25', 'learning_rate': '1e-05', 'epoch': '{0.1 * n:.2f}'}}",
    "chinese": lambda n, x: f"\u7b2c{n + 1}\u8f6e \u8bad\u7ec3\u635f\u5931: {x:.4f}",
    "openpi": lambda n, x: f"10:{n:02d}:00.123 [I] Step {n * 100}: grad_norm=1.2345, loss={x:.4f}, param_norm=1800.0 (1234:train.py:272)",
    "lerobot": lambda n, x: f"INFO 2026-10-01 10:{n:02d}:00 ts/train.py:232 step:{n + 1}K smpl:{8 * n + 8}K ep:3 epch:0.10 loss:{x:.3f} grdn:12.345 lr:1.0e-05 updt_s:0.123 data_s:0.012",
    "nanodet": lambda n, x: f"[nanodet][01-01 10:{n:02d}:00]INFO:Train|Epoch1/50|Iter{n * 50}({n * 50 + 51}/1000)| mem:3.2G| lr:1.00e-05| loss_qfl:{x:.4f}| loss_bbox:0.7| ",
    "bare": lambda n, x: f"loss: {x:.4f}",
}  # fmt: skip
HEADERS = {
    "ultralytics": "      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size\n",
    "fastai": "epoch     train_loss  valid_loss  accuracy  time    \n",
    "lightning csv": "epoch,step,train_loss\n",
    "notebook": "Step\tTraining Loss\n",
}
UNCOUNTED = {
    "keras", "keras 3", "h2o", "coqui", "rsl_rl", "stable-baselines3", "transformers 5", "bare",
}  # fmt: skip


def read(text):
    return list(training_logs.read(text.splitlines(), default_at=AT))


def column(found, metric):
    return [s.value for one in found for s in one.samples if s.metric == f"training.{metric}"]


def log(name, values):
    form = FORMS[name]
    lines = "\n".join(form(number, value) for number, value in enumerate(values))
    return HEADERS.get(name, "") + lines


@pytest.mark.parametrize("name", FORMS)
def test_the_loss_of_each_line_is_read_and_its_count_rises(name):
    losses = [9.0 - 0.25 * number for number in range(COUNT)]
    found = read(log(name, losses))
    assert losses == pytest.approx(column(found, "loss"), abs=0.006)
    steps = column(found, "step")
    if name in UNCOUNTED:
        assert [] == steps
    else:
        assert COUNT == len(steps)
        assert steps == sorted(set(steps))


@pytest.mark.parametrize("name", FORMS)
def test_a_loss_that_is_no_number_is_an_event(name):
    losses = [9.0 - 0.25 * number for number in range(9)] + [math.nan] * 3
    events = [event for one in read(log(name, losses)) for event in one.events]
    assert {"training.numeric"} == {event.name for event in events}
    assert len(events) == 3


@pytest.mark.parametrize("lines", [
    ["loss_weight: 0.5", "loss_scale: 65536.0", "loss: cross_entropy", "max_steps: 100", "lr: 0.1"],
    [f"  {name}_loss_weight: {n / 10}" for n, name in enumerate("abcdefgh")],
    [f"step {n} validation loss: {3 - n / 10:.2f}" for n in range(9)],
    [f"[Eval] iter {n} | nll {3 - n / 10:.2f}" for n in range(9)],
    [f"Test: [{n}/100] Time 0.1 (0.1) Loss {3 - n / 10:.2f} (2.9)" for n in range(9)],
    [f"val_loss: {3 - n / 10:.2f}" for n in range(9)],
    [f"Benchmark step {n}: nll {3 - n / 10:.2f} us" for n in range(9)],
    [f"{n} packets transmitted, {n / 10}% packet loss" for n in range(9)],
    [f"[Loss] {2.5} | [step] {n}" for n in range(9)],
    [f"[{n}] attempts, loss = {n}" for n in range(9)],
    ["epoch,step,val_loss", *(f"0,{n},{3 - n / 10}" for n in range(9))],
    ["| Tasks  | Metric | loss |", "|--------|--------|------|", "| wiki | ppl | 3.2 |"],
    [f"[Loss] {3 - n / 10:.2f} | [step] {n}" for n in range(3)],
])  # fmt: skip
def test_settings_results_and_benchmarks_are_not_read(lines):
    assert [] == column(read("\n".join(lines)), "loss")


def test_a_known_framework_goes_before_a_form_that_is_learnt():
    known = "{{'loss': {}, 'grad_norm': 1.5, 'epoch': 0.1}}"
    lines = [one for n in range(9) for one in (f"[Loss] {n + 0.5} | [step] {n}", known.format(7.5))]
    assert {7.5} == set(column(read("\n".join(lines)), "loss")[4:])


def test_a_line_of_another_form_is_not_taken_for_one_of_the_logs_own():
    lines = [f"[Loss] {9 - n / 4} | [step] {n}" for n in range(9)]
    lines.insert(5, "[Loss] 5.5 | [step] 4 | [Loss] 5.6 | [step] 5")
    assert 9 == len(column(read("\n".join(lines)), "loss"))


def test_the_time_of_an_epoch_is_read_once_the_first_tell_that_it_is_no_sum():
    took = [390.0, 388.5, 391.2, 389.0, 389.5, 388.0, 1200.0, 1198.0]
    lines = [f"Epoch {n}: loss {3 - n / 10:.3f}, time {s}s" for n, s in enumerate(took)]
    assert took[5:] == column(read("\n".join(lines)), "step.duration")


@pytest.mark.parametrize(("shown", "value"), [
    ("nan.0", math.nan), ("inf.0", math.inf), ("-inf.", -math.inf),
])  # fmt: skip
def test_a_bar_of_lightning_pads_what_is_no_number_as_if_it_were_one(shown, value):
    bar = "Epoch {0}: 100%|##########| 79/79 [00:28<00:00,  2.61it/s, v_num=1, train_loss={1}]"
    lines = [bar.format(epoch, f"{5 - epoch / 10:.3f}") for epoch in range(8)]
    found = read("\n".join([*lines, bar.format(8, shown), bar.format(9, shown)]))
    assert column(found, "loss")[-1] == pytest.approx(value, nan_ok=True)


def test_a_time_of_each_step_is_one_whatever_word_stands_before_it():
    took = [0.5, 0.52, 0.49, 0.51, 0.48, 0.5, 2.1, 2.2]
    lines = [f"[{n}/100] loss={3 - n / 10:.3f}, {s} sec/iter" for n, s in enumerate(took)]
    assert took[5:] == column(read("\n".join(lines)), "step.duration")


@pytest.mark.parametrize("so_far", [
    [390.0 * n for n in range(1, 9)],
    [95.0, 100.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0],  # an epoch begins
])  # fmt: skip
def test_the_time_of_all_so_far_is_not_read(so_far):
    lines = [f"Epoch {n}: loss {3 - n / 10:.3f}, time {s}s" for n, s in enumerate(so_far)]
    assert [] == column(read("\n".join(lines)), "step.duration")


def test_lines_that_none_bore_out_are_told_at_the_end():
    told = []
    lines = [f"[Loss] {9 - n / 4} | [step] {n}" for n in range(3)]
    list(training_logs.read(lines, unknown=lambda line, text: told.append(line)))
    assert told in ([], [1, 2, 3])


@pytest.mark.parametrize(("label", "rank"), [
    ("Loss", 0), ("total_loss", 1), ("train loss", 2), ("avr_loss", 3), ("loss_ctc", names.PART),
    ("nll", names.LIKE), ("val_loss", None), ("loss scale", None), ("glossary", None),
])  # fmt: skip
def test_what_a_label_says_of_a_loss(label, rank):
    assert rank == names.of_loss(label)


@pytest.mark.parametrize(("text", "expected"), [
    ("[Loss] 902.61", [("Loss", 902.61)]),
    ("E3 iter[ 14/ 15]", [("E", 3.0), ("iter", 14.0)]),
    ("loss: 2.5 (1.5)", [("loss", 2.5), ("", 1.5)]),
    ("|    loss     | 0.25 |", [("loss", 0.25)]),
    ("file 3a5f, loss=1e-3", [("loss", 0.001)]),
])  # fmt: skip
def test_the_numbers_of_a_line_have_the_words_before_them(text, expected):
    assert expected == [(one.label, one.value) for one in fields.read(text)]


@pytest.mark.parametrize(("header", "between"), [
    ("#Iters Seconds TrainingLoss LearningRate", " "),
    ("Iter;time;train_loss;lr", ";"),
    (",elapsed,loss,top5_acc", ","),
    ("step wall_time loss lr", "  "),
])  # fmt: skip
def test_a_table_under_a_header_of_any_separator_is_read(header, between):
    rows = [between.join((str(n), f"{n}.5", f"{3 - n / 10:.2f}", "0.1")) for n in range(1, 9)]
    logged = read("\n".join([header, *rows]))
    assert ([float(n) for n in range(1, 9)], 2.9) == (
        column(logged, "step"), column(logged, "loss")[0],
    )  # fmt: skip


def test_a_count_before_a_colon_is_no_task_of_a_launcher():
    lines = [f"{250 * n}: d_loss {1 / n:.4f} g_loss {n / 9:.4f}" for n in range(1, 9)]
    assert [250.0 * n for n in range(1, 9)] == column(read("\n".join(lines)), "step")
