"""The device path, held against a double and against torch's data-less `meta` device.

No GPU is at hand for these: a tensor on `meta` has no value, so whoever reads one fails, and the
double fails whoever waits. What a driver really does at `record` and `query` stays unproven here.
"""

import ast
import types
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.distributed.fsdp._fully_shard import _fsdp_param_group as shard_groups

from rankscope import probe
from rankscope.probe import attaching, devices, step_record
from rankscope.probe.devices import BATCH_LOSS, ROWS, SLOTS, DeviceReader
from rankscope.probe.hooks import HookContext, shards
from rankscope.probe.step_record import StepRecord

PROBE = Path(__file__).parents[3] / "probe"


@pytest.fixture
def reader(device):
    return DeviceReader(device.torch(), types.SimpleNamespace(index=1))


def filled(step) -> StepRecord:
    record = StepRecord(duration=1.0)
    step.fill(record)
    return record


@pytest.fixture
def one_step(device, reader, tensor):
    def step(*, loss=1.5, micro_batches=1):
        return enqueue(device, reader, tensor(loss), micro_batches)

    return step


def enqueue(device, reader, loss, micro_batches):
    for _ in range(micro_batches):
        reader.mark("begin")
        device.work(0.3)
        reader.keep(BATCH_LOSS, loss)
        reader.mark("local")
        device.work(0.1)
        reader.mark("reduced")
    reader.mark("optimizer")
    device.work(0.05)
    reader.mark("stepped")
    return reader.close()


def test_values_and_times_are_read_once_the_device_has_come_so_far_and_not_before(
    device, reader, one_step
):
    step = one_step()
    reader.poll()
    assert not step.done
    device.catch_up()
    assert not step.done, "only a poll reads"
    reader.poll()
    assert step.done
    record = filled(step)
    found = [record.compute, record.comm, record.optimizer]
    assert pytest.approx([0.3, 0.1, 0.05]) == found
    assert record.comm_known
    assert (1.5, 1) == (record.loss_sum, record.loss_count)


def test_micro_batches_add_up_and_idle_time_before_a_batch_is_no_compute(device, reader, one_step):
    device.work(0.2)
    step = one_step(micro_batches=3)
    device.catch_up()
    reader.poll()
    record = filled(step)
    assert pytest.approx([0.9, 0.3]) == [record.compute, record.comm]
    assert 3 == record.loss_count


def test_without_a_sign_of_its_beginning_a_step_begins_where_the_last_one_ended(
    device, reader, one_step
):
    one_step()
    device.work(0.4)
    reader.mark("local")
    reader.mark("reduced")
    second = reader.close()
    device.catch_up()
    reader.poll()
    assert pytest.approx(0.4) == filled(second).compute


def test_steps_are_read_in_order_and_their_events_used_again(device, reader, one_step):
    for number in range(100):
        step = one_step(loss=float(number))
        device.catch_up()
        reader.poll()
        assert filled(step).loss_sum == number
    assert device.events_made < 20


def test_a_device_far_behind_costs_values_and_never_a_wait(device, reader, one_step):
    steps = [one_step() for _ in range(ROWS + 5)]
    reader.poll()
    assert [None] * 5 == steps[ROWS:]
    device.catch_up()
    reader.poll()
    assert all(step.done for step in steps[:ROWS])
    after = one_step()
    device.catch_up()
    reader.poll()
    assert pytest.approx(0.3) == filled(after).compute


def test_while_a_graph_is_captured_nothing_is_marked_asked_or_timed(device, reader, tensor):
    reader.mark("begin")
    device.work(0.3)
    device.capturing = True
    assert not reader.keep(BATCH_LOSS, tensor(1.0))
    reader.mark("local")
    reader.poll()
    device.capturing = False
    step = reader.close()
    device.catch_up()
    reader.poll()
    assert not filled(step).own_known


def test_more_values_than_slots_are_left_out(device, reader, tensor):
    kept = [reader.keep(BATCH_LOSS, tensor(1.0)) for _ in range(SLOTS + 3)]
    assert [True] * SLOTS + [False] * 3 == kept
    step = reader.close()
    device.catch_up()
    reader.poll()
    record = filled(step)
    assert (SLOTS, 1.0 * SLOTS) == (record.loss_count, record.loss_sum)


def test_a_largest_gradient_that_is_not_finite_is_one_element_at_least(device, reader, tensor):
    for value in (float("nan"), float("inf"), 3.0):
        reader.keep("training.nonfinite", tensor(value), of="grad_local")
        step = reader.close()
        device.catch_up()
        reader.poll()
        said = filled(step).values
        assert (("training.nonfinite", "grad_local") in said) == (value != 3.0)


def test_the_uuid_and_the_allocators_books_are_read_without_the_device(device):
    assert "GPU-1234-abcd" == devices.hardware_id(device.torch(), 0)
    assert (1000.0, 2000.0, 3.0) == devices.memory(device.torch(), 0)


@pytest.fixture
def on_meta(listener, device, monkeypatch):
    """Return a watch that takes torch's meta device for the double's."""
    reader = DeviceReader(device.torch(), types.SimpleNamespace(index=0))

    def found(context, tensor):
        if tensor.device.type != "meta":
            return None
        context.device = reader
        return reader

    def waits(*_args, **_kwargs):
        raise AssertionError("waits for the device")

    monkeypatch.setattr(HookContext, "reader", found)
    monkeypatch.setattr(torch.cuda, "synchronize", waits)
    monkeypatch.setattr(devices, "memory", lambda _torch, _index: (1.0, 2.0, 3.0))
    monkeypatch.setattr(devices, "hardware_id", lambda _torch, _index: "GPU-x")
    watch = probe.attach(job="j", rank=0, environ=listener.environ)
    yield watch
    watch.detach()


def attached_context() -> HookContext:
    assert attaching._attached is not None
    context = attaching._attached[2].context
    assert context is not None
    return context


def test_a_loop_on_a_device_is_never_read_where_it_would_have_to_wait(
    on_meta, listener, device, monkeypatch
):
    """Forward, backward, clipping, a scaler's scale and records, all without one value read."""
    # torch imports more of itself in the first update: on a slow disk longer than a step is held.
    monkeypatch.setattr(step_record, "_HOLD_LONGEST_SECONDS", 600.0)
    monkeypatch.setattr(step_record, "_HOLD_SECONDS", 600.0)
    model = torch.nn.Linear(8, 1, device="meta")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=False)
    context = attached_context()
    for step in range(4):
        optimizer.zero_grad()
        device.work(0.3)
        loss = model(torch.ones(2, 8, device="meta")).mean()
        loss.backward()
        if step % 2:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        on_meta.record(grad_norm=loss if step == 3 else None, tokens=16)
        context.local_budget.insist(1)
        optimizer.step()
        device.catch_up()
    model(torch.ones(2, 8, device="meta")).mean().backward()  # passes by, and polls
    on_meta.detach()
    listener.wait()
    assert (0, 0) == (context.failures, on_meta.failures)
    assert [0, 1, 2, 3] == listener.values("training.step")
    assert [0.5] * 4 == listener.values("training.loss", scope="local")
    assert [0.5] * 3 == listener.values("training.grad_norm", scope="local")[:3]
    assert listener.values("training.memory.allocated")
    ends = {sample.at for sample in listener.samples("training.step")}
    assert ends == {sample.at for sample in listener.samples("training.loss")}


def test_a_step_whose_values_never_come_is_sent_without_them(on_meta, listener, device):
    model = torch.nn.Linear(8, 1, device="meta")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=False)
    device.work(0.1)
    model(torch.ones(2, 8, device="meta")).mean().backward()
    device.work(1e6)
    optimizer.step()
    listener.until(lambda: listener.samples("training.step"))
    assert not listener.values("training.loss")
    assert listener.values("training.step.duration")


def test_the_wait_for_gathered_parameters_is_no_work_of_the_rank(device, monkeypatch, on_meta):
    """What `fully_shard` enqueues before a layer, with and without anything to wait for."""
    group: Any = shard_groups.FSDPParamGroup
    waiting = types.SimpleNamespace(_all_gather_result="something")
    there = types.SimpleNamespace(_all_gather_result=None)
    context = attached_context()
    context.remove()
    monkeypatch.setattr(group, "wait_for_unshard", lambda _self: device.work(0.2))
    context.active = True
    shards.install(context)
    reader = context.device = DeviceReader(device.torch(), types.SimpleNamespace(index=0))
    reader.mark("begin")
    for _layer in range(2):
        device.work(0.05)
        group.wait_for_unshard(waiting)
        device.work(0.3)
        group.wait_for_unshard(there)  # 0.2 s of work, since nothing is gathered
    reader.mark("local")
    step = reader.close()
    device.catch_up()
    reader.poll()
    record = filled(step)
    assert pytest.approx([1.1, 0.4]) == [record.compute, record.comm]


def calls(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    return {
        node.func.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }


@pytest.mark.parametrize("path", sorted(PROBE.rglob("*.py")), ids=lambda path: path.name)
def test_no_file_of_the_probe_calls_what_waits_for_a_device(path):
    """`item` is for CPU tensors: only files that ask for the device first may use it."""
    assert not calls(path) & {"synchronize", "cpu", "numpy", "wait_stream", "empty_cache"}
    if "item" in calls(path):
        assert 'device.type == "cpu"' in path.read_text()
    assert "pickle" not in path.read_text().replace("pickled", "")
