"""A double of torch.cuda's stream and events: what is enqueued is done when the test says so.

Everything that would wait for a real device fails here, so a test that passes has not waited.
"""

import types
from collections.abc import Callable
from typing import Any

import pytest


class Device:
    """One stream with its own clock: `now` is how far the device has come, seconds."""

    def __init__(self) -> None:
        self.enqueued = 0.0
        self.now = 0.0
        self.capturing = False
        self.events_made = 0

    def work(self, seconds: float) -> None:
        """Enqueue work: the host goes on at once."""
        self.enqueued += seconds

    def catch_up(self) -> None:
        """Let the device finish what is enqueued."""
        self.now = self.enqueued

    def torch(self) -> Any:
        """Return as much of a torch module as the reader touches."""
        cuda = types.SimpleNamespace(
            Event=lambda enable_timing: Event(self, timing=enable_timing),
            is_current_stream_capturing=lambda: self.capturing,
            get_device_properties=lambda _index: types.SimpleNamespace(uuid="1234-abcd"),
            memory_stats_as_nested_dict=lambda _index: {
                "allocated_bytes": {"all": {"current": 1000}},
                "reserved_bytes": {"all": {"current": 2000}},
                "num_alloc_retries": 3,
            },
        )
        return types.SimpleNamespace(cuda=cuda, float32="float32", empty=self._empty)

    def _empty(self, shape: tuple[int, int], *, dtype: str, pin_memory: bool) -> "Pinned":
        assert dtype == "float32"
        assert pin_memory, "a copy into pageable memory waits for the device"
        return Pinned(self, shape)


class Event:
    def __init__(self, device: Device, *, timing: bool) -> None:
        assert timing
        device.events_made += 1
        self._device = device
        self._at: float | None = None

    def record(self) -> None:
        assert not self._device.capturing, "recording here would break the capture"
        self._at = self._device.enqueued

    def query(self) -> bool:
        assert not self._device.capturing, "asking here would break the capture"
        return self._at is not None and self._at <= self._device.now

    def elapsed_time(self, other: "Event") -> float:
        assert self.query(), "the device has not come so far: this would fail"
        assert other.query(), "the device has not come so far: this would fail"
        assert self._at is not None
        assert other._at is not None
        return (other._at - self._at) * 1000.0

    def synchronize(self) -> None:
        raise AssertionError("waits for the device")


class Pinned:
    """Page-locked rows; a value is there once the device has come to its copy."""

    def __init__(self, device: Device, shape: tuple[int, int]) -> None:
        self._device = device
        self._rows: list[list[tuple[float, float]]] = [[(0.0, 0.0)] * shape[1]] * shape[0]
        self._rows = [list(row) for row in self._rows]

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, tuple):
            return types.SimpleNamespace(
                copy_=lambda tensor, non_blocking: self._copy(place, tensor, non_blocking)
            )
        return types.SimpleNamespace(tolist=lambda: self._read(place))

    def _copy(self, place: tuple[int, int], tensor: Any, non_blocking: bool) -> None:
        assert non_blocking, "a blocking copy waits for the device"
        self._rows[place[0]][place[1]] = (self._device.enqueued, getattr(tensor, "value", 0.5))

    def _read(self, row: int) -> list[float]:
        for at, _value in self._rows[row]:
            assert at <= self._device.now, "read before the copy was done"
        return [value for _at, value in self._rows[row]]


class Tensor:
    """A value on the device. Whoever reads it waits for it, which nobody may."""

    is_cuda = True

    def __init__(self, value: float) -> None:
        self.value = value

    def numel(self) -> int:
        return 1

    def detach(self) -> "Tensor":
        return self

    def reshape(self, shape: tuple[()]) -> "Tensor":
        assert shape == ()
        return self

    def item(self) -> float:
        raise AssertionError("waits for the device")

    cpu = tolist = numpy = __float__ = __bool__ = item


@pytest.fixture
def device() -> Device:
    return Device()


@pytest.fixture
def tensor() -> Callable[[float], Tensor]:
    return Tensor
