"""`rankscope bisect`: the script recomputes a step of a tiny GPT, and its results are settled."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.serving import Answer, served
from tests.waiting import PATIENCE_SECONDS

from rankscope.cli.bisection import script, verdict
from rankscope.cli.main import main

SUSPECT = 12


def steps(*, high=(), first=4, last=16, weights=None, loss=2.0):
    return [
        {
            "step": step,
            "loss": 9.0 if step in high else loss + 0.01 * (step % 3),
            "weights": weights(step) if weights else f"{step:x}",
        }
        for step in range(first, last + 1)
    ]


def results(**experiments):
    devices = {"elsewhere": "cuda:1"}
    held = {
        name: {"device": devices.get(name, "cuda:0"), "steps": rows}
        for name, rows in experiments.items()
    }
    return {"plan": {"step": SUSPECT}, "device": "cuda:0", "experiments": held}


HIGH = [SUSPECT, SUSPECT + 1]
USUAL = steps()
WITHOUT = steps()


def settled(**experiments):
    return verdict.of(results(**experiments)).settled


def test_a_step_that_is_high_everywhere_but_without_its_batch_is_the_data():
    high = steps(high=HIGH)
    assert "data" == settled(again=high, again_too=high, elsewhere=high, without=WITHOUT)


def test_a_step_that_is_high_on_one_device_only_is_the_silicon():
    high = steps(high=HIGH)
    assert "silicon" == settled(again=high, again_too=high, elsewhere=USUAL, without=USUAL)
    assert "silicon" == settled(again=USUAL, elsewhere=high)
    assert "silicon" == settled(again=high, again_too=USUAL, elsewhere=USUAL)


def test_a_step_that_is_high_with_any_batch_on_any_device_is_the_code():
    high = steps(high=HIGH)
    later = steps(high=[SUSPECT + 1])
    assert "code" == settled(again=high, again_too=high, elsewhere=high, without=later)


def test_what_does_not_happen_again_is_not_settled():
    found = verdict.of(results(again=USUAL, again_too=USUAL, elsewhere=USUAL, without=WITHOUT))
    assert "not reproduced" == found.settled
    assert "does not happen again" in found.reasons[-1]


def test_without_the_other_device_silicon_is_not_ruled_out():
    high = steps(high=HIGH)
    assert "undetermined" == settled(again=high, again_too=high, without=high)
    assert "undetermined" == settled(again=high, elsewhere=high)
    assert "undetermined" == settled(elsewhere=high)
    found = verdict.of(results(again=high, again_too=high, without=WITHOUT))
    assert "data" == found.settled
    assert any("not recomputed on another device" in reason for reason in found.reasons)


def test_a_device_that_does_not_repeat_itself_is_said():
    other = steps(weights=lambda step: "x" if step > 8 else f"{step:x}")
    found = verdict.of(results(again=USUAL, again_too=other, elsewhere=USUAL, without=WITHOUT))
    assert any("other weights the second time, from step 9 on" in one for one in found.reasons)


def test_a_loss_that_is_not_finite_and_a_large_gradient_norm_stand_out():
    broken = [row | ({"loss": "nan"} if row["step"] == SUSPECT else {}) for row in USUAL]
    assert "silicon" == settled(again=broken, again_too=broken, elsewhere=USUAL)
    norms = [row | {"grad_norm": 50.0 if row["step"] == SUSPECT else 1.0} for row in USUAL]
    assert "data" == settled(again=norms, elsewhere=norms, without=WITHOUT)


@pytest.mark.parametrize(
    "broken",
    [{}, {"plan": {"step": "x"}}, [], results(again=[{"loss": 1}]), results(again=USUAL[-6:])],
)
def test_what_the_script_does_not_write_is_refused(tmp_path, capsys, broken):
    path = tmp_path / "results.json"
    path.write_text(json.dumps(broken))
    assert 1 == main(["bisect", "--read", str(path)])
    assert "rankscope bisect:" in capsys.readouterr().err


def test_it_says_what_it_settled_as_text_and_as_json(tmp_path, capsys):
    high, path = steps(high=HIGH), tmp_path / "results.json"
    path.write_text(json.dumps(results(again=high, elsewhere=high, without=WITHOUT)))
    assert 0 == main(["bisect", "--read", str(path)])
    assert capsys.readouterr().out.startswith("settled: data\n")
    assert 0 == main(["bisect", "--read", str(path), "--json"])
    assert "data" == json.loads(capsys.readouterr().out)["settled"]


def test_without_a_job_and_a_step_it_says_what_to_give(capsys):
    assert 2 == main(["bisect"])
    assert "give a job and a step" in capsys.readouterr().err


def test_a_script_that_would_hide_a_module_of_python_is_refused(tmp_path, capsys):
    assert 2 == main(["bisect", "j", "12", "--offline", "--out", str(tmp_path / "bisect.py")])
    assert "hides Python's own module" in capsys.readouterr().err


def test_what_the_collector_says_of_the_step_stands_in_the_script(tmp_path, capsys):
    hypothesis = {"evidence": [{"text": "in step 12 the batch of rank 1 was odd\nimport os"},
                               {"text": "something of step 120"}]}  # fmt: skip
    incident = {"id": "0123456789abcdef", "root_cause": {"hypotheses": [hypothesis]}}
    series = {
        "training.step": [[100.0, 11], [101.0, 12], [102.0, 99]],
        "training.loss": [[100.0, 2.0], [101.0, 9.0], [102.0, 2.0]],
    }

    def answer(asked):
        body: dict[str, Any]
        if "/series" in asked.path:
            name = "training.step" if "training.step" in asked.path else "training.loss"
            body = {"series": [{"rank": 1, "points": series[name]}]}
        elif "incidents/" in asked.path:
            body = incident
        else:
            body = {"items": [incident], "next_cursor": None}
        return Answer(json.dumps(body).encode(), "application/json")

    out = tmp_path / "again.py"
    with served(answer) as address:
        words = ["bisect", "j", "12", "--rank", "1", "--out", str(out), "--url", address]
        assert 0 == main(words)
    text = out.read_text()
    assert "# in step 12 the batch of rank 1 was odd import os\n" in text
    assert "step 120" not in text
    assert "'observed': {11: 2.0, 12: 9.0}" in text
    compile(text, "again.py", "exec")
    assert "in step 12 the batch" in capsys.readouterr().out


TRAINER = """
import os
import torch
from bench.spikes.gpt import BATCH, TinyGpt, corpus, VOCABULARY

FAULT = os.environ["FAULT"]

def load(device, step):
    torch.manual_seed(1)
    torch.set_num_threads(1)
    model = TinyGpt(dropout=0.0).to(device)
    text = corpus(128 * BATCH, 1)
    if FAULT == "data":
        text.samples[12 * BATCH:13 * BATCH] = VOCABULARY - 1 - torch.arange(33) % 2
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    state = {"model": model, "optimizer": optimizer, "text": text}
    for before in range(64, 128):
        train(state, batch(state, before), before)
    return state, 4

def batch(state, step):
    return state["text"].samples[step * BATCH:(step + 1) * BATCH]

def train(state, batch, step):
    model, optimizer = state["model"], state["optimizer"]
    if FAULT == "code" and step == 12:
        for group in optimizer.param_groups:
            group["lr"] = 3.0
    optimizer.zero_grad()
    loss = model(batch)
    loss.backward()
    here = os.environ.get("RANKSCOPE_BISECT_DEVICE", "")
    if FAULT == "silicon" and here == SICK and step == 11:
        model.norm.weight.grad.mul_(0)
        model.head.weight.data.view(-1).view(torch.int32)[7] ^= 1 << 30
    optimizer.step()
    return {"loss": loss.item()}
"""


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param("data", marks=pytest.mark.long),
        "silicon",
        pytest.param("code", marks=pytest.mark.long),
    ],
)
def test_the_script_tells_data_silicon_and_code_of_a_tiny_gpt_apart(tmp_path, capsys, fault):
    """The sick device is a core: in step 11 it flips a bit of a weight."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        pytest.skip("one core is no other device")
    sick, sound = (f"cpu:{core}" for core in cores[:2])
    trainer, out, found = (tmp_path / name for name in ("trainer.py", "again.py", "found.json"))
    trainer.write_text(TRAINER.replace("SICK", repr(sick)))
    assert 0 == main(["bisect", "j", "12", "--offline", "--out", str(out)])
    only = ["--only", "again", "--only", "elsewhere"] if fault == "silicon" else []
    done = subprocess.run(
        [sys.executable, str(out), str(trainer), "--device", sick, "--other-device", sound,
         "--results", str(found), *only],
        env={**os.environ, "FAULT": fault, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=10 * PATIENCE_SECONDS,
        check=False,
    )  # fmt: skip
    assert 0 == done.returncode, done.stderr
    capsys.readouterr()
    assert 0 == main(["bisect", "--read", str(found)])
    assert f"settled: {fault}" in capsys.readouterr().out


def test_the_plan_is_the_only_thing_that_differs_between_two_scripts():
    one, other = (script.text({"step": step}, []) for step in (1, 2))
    assert one.replace("{'step': 1}", "{'step': 2}") == other
