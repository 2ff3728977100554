"""Event files as torch really writes them, and such as nobody should."""

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.formats.tensorboard import EventParser, parser, records
from rankscope.formats.tensorboard.records import LARGEST
from rankscope.formats.wire import FIXED32, FIXED64, VARINT, block, tag, varint
from rankscope.vocabulary.samples import Event, Sample


def record(content, length=None):
    head = struct.pack("<Q", len(content) if length is None else length)
    check, after = records.masked(head), records.masked(content)
    return head + struct.pack("<I", check) + content + struct.pack("<I", after)


def event(step, value, name="loss", at=1000.0, *, tensor=False):
    held = tag(2, FIXED32) + struct.pack("<f", value)
    if tensor:
        held = block(8, tag(1, VARINT) + varint(1) + block(4, struct.pack("<f", value)))
    summary = block(1, block(1, name.encode()) + held)
    moment = tag(1, FIXED64) + struct.pack("<d", at)
    return record(moment + tag(2, VARINT) + varint(step) + block(5, summary))


def values(parser, data):
    return [
        (sample.metric.removeprefix("training."), sample.value)
        for logged in parser.feed(data)
        for sample in logged.samples
        if sample.metric != "training.step.duration"
    ]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return the bytes of a file that torch wrote: scalars, a histogram, a long text."""
    torch = pytest.importorskip("torch")
    from torch.utils.tensorboard import SummaryWriter  # noqa: PLC0415

    folder = tmp_path_factory.mktemp("run")
    with SummaryWriter(folder) as writer:
        for step in range(5):
            writer.add_scalar("train/loss", 2.0 - step / 4, step, walltime=1000.0 + step)
            norm = math.nan if step == 3 else 0.5
            writer.add_scalar("train/grad_norm", norm, step, walltime=1000.1 + step)
            writer.add_scalar("eval/loss", 9.0, step, walltime=1000.2 + step)
            if step == 2:
                writer.add_histogram("weights", torch.ones(100), step)
                writer.add_text("config", "x" * 200_000, step)
    (file,) = folder.glob("events.out.tfevents.*")
    return file.read_bytes()


@pytest.mark.parametrize("size", [1, 7, 1000, 1 << 20])
def test_what_torch_writes_is_read_in_pieces_of_any_size(written, size):
    parser = EventParser(rank=3)
    found: list[Sample] = []
    events: list[Event] = []
    for start in range(0, len(written), size):
        for logged in parser.feed(written[start : start + size]):
            found += logged.samples
            events += logged.events
    by_metric: dict[str, list[tuple[float, float]]] = {}
    for sample in found:
        by_metric.setdefault(sample.metric, []).append((sample.at, sample.value))
    assert [(1000.0 + step, 2.0 - step / 4) for step in range(5)] == by_metric["training.loss"]
    assert [(1000.0 + step, step) for step in range(5)] == by_metric["training.step"]
    # All values of a step share its time, and a step takes what lies between two.
    assert [1000.0 + step for step in range(5)] == [at for at, _ in by_metric["training.grad_norm"]]
    assert [(1000.0 + step, 1.0) for step in range(1, 5)] == by_metric["training.step.duration"]
    assert {3} == {dict(sample.attributes)["rank"] for sample in found}
    (numeric,) = events
    assert ("training.numeric", "grad_reduced", 3) == (
        numeric.name, numeric.attributes["what"], numeric.attributes["step"],
    )  # fmt: skip
    assert not parser.missed


def test_a_torn_record_waits_for_its_rest():
    data, parser = event(1, 2.0) + event(2, 1.5), EventParser()
    assert [("step", 1), ("loss", 2.0)] == values(parser, data[:-3])
    assert [("step", 2), ("loss", 1.5)] == values(parser, data[-3:])


def test_damage_costs_the_records_that_it_hit():
    data = bytearray(event(1, 2.0) + event(2, 1.5) + event(3, 1.0))
    data[len(event(1, 2.0)) + 20] ^= 1
    parser = EventParser()
    assert [("step", 1), ("loss", 2.0), ("step", 3), ("loss", 1.0)] == values(parser, bytes(data))
    assert 1 == parser.missed["damaged"]


def test_after_bytes_that_were_left_out_reading_goes_on_at_the_next_record():
    parser = EventParser()
    parser.skip()
    data = event(1, 2.0)[11:] + event(2, 1.5)
    assert [("step", 2), ("loss", 1.5)] == values(parser, data)
    assert not parser.missed


def test_a_tensor_of_one_number_is_a_scalar():
    assert [("step", 1), ("loss", 0.5)] == values(EventParser(), event(1, 0.5, tensor=True))


@pytest.mark.parametrize("length", [LARGEST + 1, (1 << 32) - 1])
def test_a_large_record_is_passed_over_and_never_held(length):
    parser = EventParser()
    assert [] == values(parser, record(b"", length=length)[:12])
    for _ in range(50):
        assert [] == values(parser, b"\1" * 4096)
    assert len(parser._records._rest) <= LARGEST


@given(st.binary(max_size=300), st.binary(max_size=100))
def test_no_bytes_raise_and_what_follows_is_read_again(noise, inside):
    parser = EventParser()
    parser.feed(noise)
    parser.feed(record(inside))
    parser.skip()
    assert [("step", 7), ("loss", 2.0)] == values(parser, event(7, 2.0))


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("lm loss", "training.loss"),
        ("lm loss vs samples", None),
        ("lm loss validation", None),
        ("learning-rate", "training.learning_rate"),
        ("iteration-time", "training.step.duration"),
        ("grad-norm", "training.grad_norm"),
        ("loss_metrics/global_avg_loss", "training.loss"),
        ("loss_metrics/global_max_loss", None),
        ("time_metrics/end_to_end(s)", "training.step.duration"),
        ("throughput(tps)", "training.throughput"),
        ("train/loss", "training.loss"),
        ("eval/loss", None),
        ("train_loss_step", "training.loss"),
        ("train_loss_epoch", None),
        ("lr-AdamW/pg1", "training.learning_rate"),
        ("Train/Samples/train_loss", "training.loss"),
        ("Loss/train", "training.loss"),
        ("val_loss", None),
    ],
)
def test_tags_of_frameworks_are_metrics(name, metric):
    found = parser.metric_of(name)
    assert metric == (found.metric if found else None)


def test_deepspeeds_count_of_samples_is_no_step():
    data = event(4096, 2.0, "Train/Samples/train_loss")
    assert [("loss", 2.0)] == values(EventParser(), data)
