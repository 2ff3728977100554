"""Numbers as Grafana's units write them, for the units that our panels have, and colours."""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

COLOURS = {
    "green": "#73bf69",
    "orange": "#ff9830",
    "red": "#f2495c",
    "blue": "#5794f2",
    "text": "#ccccdc",
}
PALETTE = (
    "#73bf69", "#f2cc0c", "#5794f2", "#ff780a", "#f2495c", "#8ab8ff", "#b877d9", "#fade2a",
    "#37872d", "#fa6400", "#c4162a", "#1f60c4", "#8f3bb8", "#ffa6b0", "#96d98d", "#e0b400",
)  # fmt: skip
_SMALL, _MOST_DECIMALS = 0.1, 9
"""Smaller numbers are written with two significant digits."""
_THOUSANDS = ("", " K", " Mil", " Bil", " Tri")


def written(value: float, unit: str, decimals: int | None = None) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if unit.startswith("suffix:"):
        return f"{_plain(value, decimals)} {unit.removeprefix('suffix:').strip()}"
    if unit == "percentunit":
        return f"{100 * value:.{1 if decimals is None else decimals}f} %"
    if unit == "s":
        return _seconds(value, decimals)
    if unit == "bytes":
        return _scaled(value, 1024, ("B", "KiB", "MiB", "GiB", "TiB"), decimals)
    if unit == "Bps":
        return _scaled(value, 1000, ("B/s", "kB/s", "MB/s", "GB/s", "TB/s"), decimals)
    if unit == "hertz":
        return _scaled(value, 1000, ("Hz", "kHz", "MHz", "GHz"), decimals)
    if unit == "watt":
        return _scaled(value, 1000, ("W", "kW", "MW"), decimals)
    if unit == "celsius":
        return f"{_plain(value, decimals)} °C"
    if unit == "cps":
        return f"{_short(value, decimals)} c/s"
    if unit == "sci":
        return f"{value:.2e}"
    if unit == "dateTimeAsIso":
        return datetime.fromtimestamp(value / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return _short(value, decimals) if unit == "short" else _plain(value, decimals)


def ticks(values: Sequence[float], unit: str) -> list[str]:
    """Return the numbers at an axis, with as many decimals as tell one from the next."""
    for decimals in (None, *range(3, _MOST_DECIMALS)):
        texts = [written(value, unit, decimals) for value in values]
        if len(set(texts)) == len(set(values)):
            break
    return texts


def colour(value: float, steps: Sequence[Mapping[str, Any]]) -> str:
    """Return the colour of the threshold that a value has reached."""
    found = steps[0]["color"]
    for step in steps[1:]:
        if value >= step["value"]:
            found = step["color"]
    return COLOURS[found]


def _plain(value: float, decimals: int | None) -> str:
    size = abs(value)
    if decimals is None and 0 < size < _SMALL:
        decimals = min(1 - math.floor(math.log10(size)), _MOST_DECIMALS)
    if decimals is None:
        decimals = 0 if value == int(value) else 1 if size >= 100 else 2
    return f"{value:.{decimals}f}"


def _short(value: float, decimals: int | None) -> str:
    size = abs(value)
    power = 0
    while size >= 1000 and power < len(_THOUSANDS) - 1:
        size, power = size / 1000, power + 1
    return _plain(math.copysign(size, value), decimals) + _THOUSANDS[power]


def _scaled(value: float, by: int, names: Sequence[str], decimals: int | None) -> str:
    size, power = abs(value), 0
    while size >= by and power < len(names) - 1:
        size, power = size / by, power + 1
    return f"{_plain(math.copysign(size, value), decimals)} {names[power]}"


def _seconds(value: float, decimals: int | None) -> str:
    size = abs(value)
    if size and size < 1e-3:
        return f"{_plain(value * 1e6, decimals)} µs"
    if size and size < 1:
        return f"{_plain(value * 1e3, 0 if decimals is None else decimals)} ms"
    for least, name in ((86400, "days"), (3600, "hours"), (60, "mins")):
        if size >= least:
            return f"{_plain(value / least, decimals)} {name}"
    return f"{_plain(value, decimals)} s"
