"""Losses of parts of a training that are not finite, beside a loss that is."""

import pytest

from rankscope.formats import training_logs
from rankscope.formats.training_logs import parts

VERL = "step:{} - actor/pg_loss:-0.01 - actor/grad_norm:0.5 - critic/vf_loss:{} - critic/lr:0.0"


@pytest.mark.parametrize("name", [
    "critic/vf_loss", "critic/grad_norm", "value_loss", "Critic Loss", "cri_loss", "loss/value_avg",
    "loss_D", "kl_loss", "train/kl_loss", "policyLoss", "critic_grad_norm", "entropy_loss",
])  # fmt: skip
def test_a_part_s_loss_or_norm_is_told(name):
    assert {name: "nan"} == parts.nonfinite(f"step 3, {name}: nan, lr: 0.1")


@pytest.mark.parametrize("name", [
    "aux_loss", "loss_code", "val/value_loss", "eval_policy_loss", "critic/score/mean",
    "reward_std", "policy_loss_std", "kl", "loss", "mean_terminated_length",
])  # fmt: skip
def test_what_may_lack_in_a_batch_or_is_another_thing_s_is_not(name):
    assert {} == parts.nonfinite(f"step 3, {name}: nan, lr: 0.1")


@pytest.mark.parametrize("written", ["nan", "-inf", "np.float64(nan)", "tensor(inf)", "'NaN'"])
def test_forms_of_values(written):
    assert ["value_loss"] == list(parts.nonfinite(f"{{'loss': 1.0, 'value_loss': {written}}}"))


def events(*lines):
    return [
        (event.attributes["what"], event.attributes["step"])
        for line in training_logs.read(lines, rank=0, default_at=1_787_000_000.0)
        for event in line.events
    ]


def test_a_line_tells_its_parts_where_its_own_loss_is_finite():
    lines = [VERL.format(step, "nan" if step == 2 else 1.5) for step in (1, 2, 3)]
    assert [("critic/vf_loss", 2)] == events(*lines)
    both = VERL.format(4, "nan").replace("-0.01", "nan")
    assert [("loss", 4)] == events(both)


def test_a_critic_that_warms_up_alone_is_read():
    line = "step:1 - critic/vf_loss:nan - critic/grad_norm:nan - perf/throughput:950.0"
    assert [("loss", 1), ("grad_reduced", 1)] == events(line)
