"""One device as the worker sees it: asked function by function, each answer on its own.

A function that the driver does not have or the device does not support is an answer: it is noted
once and left alone for a while. Only what says that the device itself is gone is an error here.
"""

import time
from collections.abc import Callable
from typing import Any

import pynvml

_NOT_HERE = {
    pynvml.NVML_ERROR_NOT_SUPPORTED: "not supported by this device",
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND: "this driver does not have it",
    pynvml.NVML_ERROR_NO_PERMISSION: "no permission",
    pynvml.NVML_ERROR_INVALID_ARGUMENT: "not known to this driver",
    pynvml.NVML_ERROR_NOT_FOUND: "not there",
    pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH: "this driver knows another version of it",
}
_GONE = (
    pynvml.NVML_ERROR_GPU_IS_LOST,
    pynvml.NVML_ERROR_RESET_REQUIRED,
    pynvml.NVML_ERROR_UNINITIALIZED,
)
_ASK_AGAIN_SECONDS = 600.0
"""How often a function that was not there is tried again."""

Pairs = tuple[tuple[str, str | int], ...]
Series = tuple[str, Pairs]


_FIELD_OF_TYPE = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")


def code_of(error: pynvml.NVMLError) -> int:
    return int(getattr(error, "value", pynvml.NVML_ERROR_UNKNOWN))


class GoneError(Exception):
    """The device does not answer any more; `code` is NVML's."""

    def __init__(self, code: int, function: str) -> None:
        super().__init__(f"{function}: NVML error {code}")
        self.code = code
        self.function = function


class PolledDevice:
    """A device and what was reported of it in this poll.

    `calling` holds the function being asked and since when (monotonic seconds), for whoever watches
    that calls return.
    """

    def __init__(self, handle: Any, *, index: int, uuid: str) -> None:
        self.handle = handle
        self.index = index
        self.uuid = uuid
        self.calling: tuple[str, float] | None = None
        self.values: dict[Series, float] = {}
        self.notes: dict[str, str] = {}
        self.kept: dict[str, Any] = {}
        self._not_here: dict[tuple[Any, ...], float] = {}

    def ask(self, function: str, *arguments: Any) -> Any:
        """Return what a function of pynvml answers for this device, None where there is no answer.

        Raises GoneError when the device is lost, needs a reset, or the library was shut down.
        """
        key = (function, *arguments) if arguments else (function,)
        return self._ask(key, getattr(pynvml, function, None), self.handle, *arguments)

    def ask_with(self, key: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return what any function answers, None where there is no answer; `key` names it."""
        return self._ask((key,), function, *arguments)

    def _ask(self, key: tuple[Any, ...], call: Callable[..., Any] | None, *arguments: Any) -> Any:
        now = time.monotonic()
        until = self._not_here.get(key)
        if until is not None and now < until:
            return None
        if call is None:
            return self._absent(key, "this pynvml does not have it", now)
        self.calling = (str(key[0]), now)
        try:
            answer = call(*arguments)
            if self.notes:
                self.notes.pop(str(key[0]), None)
            return answer
        except pynvml.NVMLError as error:
            code = code_of(error)
            if code in _GONE:
                raise GoneError(code, str(key[0])) from None
            if code in _NOT_HERE:
                return self._absent(key, _NOT_HERE[code], now)
            self.notes[str(key[0])] = f"NVML error {code}: {error}"
            return None
        finally:
            self.calling = None

    def fields(self, *wanted: int | tuple[int, int]) -> list[float | None]:
        """Return field values by id, or by (id, scope), in one call; None where there is none."""
        answered = self.ask_with(
            "nvmlDeviceGetFieldValues", pynvml.nvmlDeviceGetFieldValues, self.handle, list(wanted)
        )
        if answered is None:
            return [None] * len(wanted)
        values: list[float | None] = []
        for value in answered:
            code = int(value.nvmlReturn)
            if code in _GONE:
                raise GoneError(code, "nvmlDeviceGetFieldValues")
            values.append(_number(value) if code == pynvml.NVML_SUCCESS else None)
        return values

    def report(self, metric: str, value: float, *pairs: tuple[str, str | int]) -> None:
        """Give a value of a metric of the vocabulary, in its unit."""
        self.values[metric, pairs] = value

    def _absent(self, key: tuple[Any, ...], reason: str, now: float) -> None:
        self._not_here[key] = now + _ASK_AGAIN_SECONDS
        self.notes[str(key[0])] = reason


def _number(value: Any) -> float | None:
    kind = int(value.valueType)
    if kind >= len(_FIELD_OF_TYPE):
        return None
    return float(getattr(value.value, _FIELD_OF_TYPE[kind]))
