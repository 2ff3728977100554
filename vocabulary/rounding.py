"""Numbers as documents show them: the same bytes on every machine, and never NaN."""

import math


def number(value: float | None) -> float | None:
    """Return a number fit for JSON: six significant digits, None for what is not finite."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.6g}")


def shown(value: float | str | None) -> float | str | None:
    """Return an observed or expected value for JSON; NaN and Inf as the words NaN, Inf, -Inf."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Inf" if value > 0 else "-Inf")
    return number(value) if isinstance(value, int | float) else value
