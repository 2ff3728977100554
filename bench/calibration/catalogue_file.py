"""The calibration of the catalogue in its file: only these numbers change, comments stay."""

import re

from rankscope.alerts.causes.calibration import ProbabilityCalibration


def rewrite(text: str, calibration: ProbabilityCalibration, version: str) -> str:
    """Return catalogue.toml with this calibration and version."""
    text = _set(text, "version", f'"{version}"')
    curve = ", ".join(f"[{lead:g}, {chance:g}]" for lead, chance in calibration.curve)
    text = _set(text, "curve", f"[{curve}]")
    text = _set(text, "lone", f"{calibration.lone:g}")
    text = _set(text, "far", f"{calibration.far:g}")
    if calibration.reach is not None:
        for key in ("ranks", "interval"):
            low, high = getattr(calibration.reach, key)
            text = _set(text, key, f"[{low:g}, {high:g}]")
        text = _set(text, "coverage", f"{calibration.reach.coverage:g}")
    text = _set(text, "temperature", f"{calibration.temperature:g}")
    text = _set(text, "high", f"{calibration.high:g}")
    text = _set(text, "medium", f"{calibration.medium:g}")
    return _set(text, "cases", f'"{calibration.cases}"')


def _set(text: str, key: str, value: str) -> str:
    """Set a key of catalogue.toml; the comment after it stays in its column."""

    def line(found: re.Match[str]) -> str:
        space = max(len(found[2]) + len(found[3]) - len(value), 1) if found[4] else 0
        return f"{found[1]}{value}{' ' * space}{found[4]}"

    return re.sub(
        rf'^({key} = )("[^"]*"|\[.*\]|[-\d.]+)( *)(#.*)?$',
        lambda found: line(found) if found[4] else f"{found[1]}{value}",
        text,
        count=1,
        flags=re.MULTILINE,
    )
