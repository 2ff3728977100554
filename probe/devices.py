"""Times and values that live on a CUDA device, read a step later and never waited for.

Values are copied into page-locked memory and times marked by events, both in the job's own
stream. Later, at moments when the training thread passes by anyway, `poll` asks whether the last
event of a step is done and reads only then. The one thing that may halt the device is the
page-locked memory itself, allocated once, at the first step. While the job captures a CUDA graph
nothing is marked or asked: it would break the capture.

Proven here with a double of torch.cuda's streams and events; `tests/probe` says which tests need
a real device.
"""

from collections import deque
from typing import Any

from .step_record import StepRecord

ROWS = 16
"""Steps that may be in flight; the host seldom runs more than two ahead."""
BATCH_LOSS = "training.loss of a micro-batch"
"""What a micro-batch's loss is kept as: the step's loss is the mean of them."""
SLOTS = 24
"""Values a step: micro-batch losses first of all; what finds no slot is left out."""


class DeviceStep:
    """What one step left on the device: marks in order, and which value lies in which slot."""

    __slots__ = ("done", "elapsed", "first", "keys", "last", "marks", "row", "spoiled", "values")

    def __init__(self, row: int, first: Any) -> None:
        self.done = False
        self.row = row
        self.first = first
        self.last: Any = None
        self.marks: list[tuple[str, Any]] = []
        self.keys: list[tuple[str, str, str]] = []
        self.values: list[float] = []
        self.elapsed: dict[str, float] = {}
        self.spoiled = False

    def fill(self, record: StepRecord) -> None:
        """Write the device's times and values into the record, over what the host had guessed."""
        for name, seconds in self.elapsed.items():
            if name == "compute":
                record.compute = seconds
                record.own_known = True
                record.residual = False
            elif name == "comm":
                record.comm = seconds
                record.comm_known = True
            elif name == "optimizer":
                record.optimizer = seconds
        for (metric, scope, of), value in zip(self.keys, self.values, strict=False):
            if metric == BATCH_LOSS:
                record.loss_sum += value
                record.loss_count += 1
            elif metric == "training.nonfinite":
                if not value < float("inf"):  # a largest magnitude: finite, or not
                    record.set(metric, 1.0, of=of)
            elif (metric, of) not in record.values:
                record.set(metric, value, scope=scope, of=of)


class DeviceReader:
    """Marks and keeps for the step in progress; reads the ones before it.

    `torch` is the job's module; `device` the torch.device its loss lives on. Everything runs in
    the thread that trains.
    """

    def __init__(self, torch: Any, device: Any) -> None:
        self._cuda = torch.cuda
        self.device = device
        self.index = int(device.index or 0)
        self._rows = torch.empty((ROWS, SLOTS), dtype=torch.float32, pin_memory=True)
        self._free = deque(range(ROWS))
        self._spare: list[Any] = []
        self._flying: deque[DeviceStep] = deque()
        self._open: DeviceStep | None = None
        self._before: Any = None
        self.check_seconds = 0.0

    def mark(self, name: str) -> None:
        """Put an event into the job's stream: begin, local, reduced, checking, checked, ..."""
        step = self._current()
        if step is not None:
            step.marks.append((name, self._record()))

    def keep(self, metric: str, tensor: Any, *, scope: str = "", of: str = "") -> bool:
        """Copy one element towards the host without waiting; False when there is no room."""
        step = self._current()
        if step is None or len(step.keys) >= SLOTS or tensor.numel() != 1:
            return False
        slot = self._rows[step.row, len(step.keys)]
        slot.copy_(tensor.detach().reshape(()), non_blocking=True)
        step.keys.append((metric, scope, of))
        return True

    def close(self) -> DeviceStep | None:
        """End the step: its last event goes into the stream, and it waits to be read."""
        step, self._open = self._current(), None
        if step is None:
            self._before = None  # too many in flight: the next step begins at its own first mark
            return None
        step.last = self._before = self._record()
        self._flying.append(step)
        return step

    def poll(self) -> None:
        """Read the steps whose last event is done. Asks, never waits."""
        while self._flying and not self._capturing():
            step = self._flying[0]
            if not step.last.query():
                return
            self._flying.popleft()
            self._read(step)

    def _current(self) -> DeviceStep | None:
        if self._capturing():
            if self._open is not None:
                self._open.spoiled = True
            return None
        if self._open is None and self._free:
            self._open = DeviceStep(self._free.popleft(), self._before)
            self._before = None
        return self._open

    def _capturing(self) -> bool:
        return bool(self._cuda.is_current_stream_capturing())

    def _record(self) -> Any:
        event = self._spare.pop() if self._spare else self._cuda.Event(enable_timing=True)
        event.record()
        return event

    def _read(self, step: DeviceStep) -> None:
        elapsed: dict[str, float] = {}
        before = step.first
        names = {"local": "compute", "reduced": "comm", "checked": "check", "stepped": "optimizer"}
        for mark, event in step.marks:
            name = names.get(mark)
            if name is not None and before is not None and not step.spoiled:
                spent = before.elapsed_time(event) / 1000.0
                elapsed[name] = elapsed.get(name, 0.0) + spent
            before = event
        self.check_seconds += elapsed.pop("check", 0.0)
        step.elapsed = elapsed
        step.values = self._rows[step.row].tolist()[: len(step.keys)]
        # The last event is also the first of the step after it, so it is given back with that one.
        self._spare += [event for _mark, event in step.marks]
        if step.first is not None:
            self._spare.append(step.first)
        self._free.append(step.row)
        step.done = True


def hardware_id(torch: Any, index: int) -> str | None:
    """Return the UUID of a CUDA device that the job already uses, as `hw.id` spells it."""
    uuid = getattr(torch.cuda.get_device_properties(index), "uuid", None)
    if uuid is None:
        return None
    text = str(uuid)
    return text if text.startswith("GPU-") else f"GPU-{text}"


def memory(torch: Any, index: int) -> tuple[float, float, float]:
    """Return bytes allocated, bytes reserved and allocation retries, from the allocator's books."""
    books = torch.cuda.memory_stats_as_nested_dict(index)
    return (
        float(books["allocated_bytes"]["all"]["current"]),
        float(books["reserved_bytes"]["all"]["current"]),
        float(books["num_alloc_retries"]),
    )
