"""How much a lab job computes: little, so that the machine it runs on stays responsive."""

from collections.abc import Mapping

DEVICE_SECONDS = 0.05
"""What a step would spend on a device; the lab sleeps it. RANKSCOPE_LAB_DEVICE_SECONDS sets it."""

STEPS = 1_000_000
"""As many as fit: the lab ends its jobs itself. RANKSCOPE_LAB_STEPS sets it."""


def device_seconds(environ: Mapping[str, str]) -> float:
    """Return the time a step sleeps in the place of a device."""
    return float(environ.get("RANKSCOPE_LAB_DEVICE_SECONDS", DEVICE_SECONDS))


def steps(environ: Mapping[str, str]) -> int:
    """Return how many steps to train."""
    return int(environ.get("RANKSCOPE_LAB_STEPS", STEPS))
