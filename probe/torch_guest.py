"""Sits down in the job's torch once it is imported, and gets up again."""

from types import ModuleType

from . import devices
from .hooks import HOOKS, Seat, memory, optimizers
from .hooks.gradients import watch_local
from .patches import BowOutError
from .places import Places
from .timeline import Timeline
from .watch import Watch


class TorchGuest:
    """Installs every hook that this torch has a place for; the others are named in `missing`.

    A torch that is shadowed by something else, or broken, has no place for any: then the watch
    works as it does without torch.
    """

    def __init__(self, *, watch: Watch, timeline: Timeline, places: Places) -> None:
        self._watch = watch
        self._timeline = timeline
        self._places = places
        self._model: object = None
        self._optimizer: object = None
        self.seat: Seat | None = None
        self.missing: list[str] = []

    def meet(self, model: object, optimizer: object) -> None:
        """Take note of the job's model and optimizer, where it names them."""
        self._model = model if model is not None else self._model
        self._optimizer = optimizer if optimizer is not None else self._optimizer
        seat = self.seat
        if seat is None:
            return
        if model is not None:
            seat.model = model
        if optimizer is not None and not seat.is_ruler(optimizer):
            seat.ruler = optimizer
            try:
                watch_local(seat, optimizer)
            except Exception:  # noqa: BLE001  not an optimizer of torch: one check fewer
                seat.failed()

    def enter(self, torch: ModuleType) -> None:
        """Install the hooks in this torch; never raises."""
        watch = self._watch
        try:
            seat = Seat(torch=torch, steps=watch, timeline=self._timeline, phases=watch.phases)
        except Exception as error:  # noqa: BLE001  whatever this is, it is not torch
            self.missing.append(f"torch: {error}")
            return
        self.seat = seat
        for install in HOOKS:
            try:
                install(seat)
            except (BowOutError, AttributeError, TypeError) as error:
                self.missing.append(f"{install.__module__.rpartition('.')[2]}: {error}")
        self.meet(self._model, self._optimizer)
        books = memory.Memory(seat)

        def close() -> None:
            if seat.device is not None:
                books.close()
                self._find_hardware(seat)
            optimizers.close(seat)

        watch.closers.append(close)
        watch.keep = self._keep
        watch.alarm = seat.alarm

    def leave(self) -> None:
        """Take every hook away."""
        self._watch.closers.clear()
        self._watch.keep = None
        if self.seat is not None:
            self._watch.failures += self.seat.failures
            self.seat.leave()
            self.seat = None

    def _keep(self, metric: str, value: object, scope: str) -> bool:
        reader = None if self.seat is None else self.seat.reader(value)
        return reader is not None and reader.keep(metric, value, scope=scope)

    def _find_hardware(self, seat: Seat) -> None:
        if seat.device is None or self._places.hardware is not None:
            return
        self._places.hardware = ""  # asked once, whatever the answer
        self._places.hardware = devices.hardware_id(seat.torch, seat.device.index) or ""
