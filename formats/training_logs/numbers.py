"""Numbers and units as logs write them: read exactly or not at all."""

import re

_PLAIN = re.compile(r"[-+]?(?:\d{1,24}(?:\.\d{0,24})?|\.\d{1,24})(?:[eE][-+]?\d{1,3})?")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3}){1,6}(?:\.\d{1,6})?")
_NOT_FINITE = {
    "nan": float("nan"), "-nan": float("nan"), "inf": float("inf"), "-inf": float("-inf"),
    "+inf": float("inf"), "infinity": float("inf"),
    # Lightning's bar pads what is no number as if it were one (2.6).
    "nan.0": float("nan"), "inf.0": float("inf"), "-inf.": float("-inf"),
    "nan(ind)": float("nan"), "-nan(ind)": float("nan"),
}  # fmt: skip
_OF_WINDOWS = re.compile(r"([-+]?1)\.#(?:(INF)|IND|[QS]NAN)0{0,9}")
"""What is not finite as C libraries of Windows wrote it up to 2013."""

FACTORS = {
    "s": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "min": 60.0},
    "By": {
        "By": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30,
    },
}  # fmt: skip
"""Factors to the unit of a metric, by the unit of the log; any metric may be in % or k, M, G, T."""

_PLAIN_FACTORS = {
    "1": 1.0, "%": 0.01, "k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9, "G": 1e9, "T": 1e12,
}  # fmt: skip
_THOUSAND = {"K": 1e3, "M": 1e6, "B": 1e9}
_SUFFIXED = re.compile(r"(?P<number>.{0,30}?[\d.])(?P<unit>[A-Za-z%]{1,12}(?:/\w{1,12}){0,2})")
_WORDS = {"sec": "s", "secs": "s", "seconds": "s", "mins": "min", "GB": "GB", "gib": "GiB",
          "TFLOPS": "T", "TFLOPs": "T", "TFLOP/s": "T"}  # fmt: skip
PER_SECOND = "1/s"
"""The unit of a rate whose inverse is a duration."""


def number(text: str) -> float | None:
    """Return the number that is the whole text (NaN and infinities too), None for anything else."""
    if _PLAIN.fullmatch(text):
        return float(text)
    if _THOUSANDS.fullmatch(text):
        return float(text.replace(",", ""))
    if "#" in text and (found := _OF_WINDOWS.fullmatch(text)):
        return float(found[1]) * float(found[2] or "nan")
    return _NOT_FINITE.get(text.lower()) if len(text) <= 9 else None


def quantity(text: str, metric_unit: str, otherwise: float = 1.0) -> float | None:
    """Return a number with its unit behind it in the unit of a metric; None for anything else.

    otherwise: the factor of the log's own unit, for a thousand, a million of it (K, M, B, T).
    """
    found = _SUFFIXED.fullmatch(text)
    if found is None or (value := number(found["number"])) is None:
        return None
    unit = _WORDS.get(found["unit"], found["unit"])
    by = factor(metric_unit, unit)
    if by is None and unit in _THOUSAND:
        by = _THOUSAND[unit] * otherwise
    return None if by is None else value * by


def factor(metric_unit: str, unit: str) -> float | None:
    """Return what a value in a log's unit is multiplied by, None where the units do not fit."""
    if unit in ("", metric_unit):
        return 1.0
    known = FACTORS.get(metric_unit)
    return known.get(unit) if known is not None else _PLAIN_FACTORS.get(unit)
