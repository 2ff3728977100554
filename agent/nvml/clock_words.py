"""What holds clocks, by NVML's bits: told to the worker, which must not load the tables itself.

They are read with parsers and dataclasses that would be a quarter of the worker's memory.
"""

from collections.abc import Sequence

_told: list[tuple[int, str]] = []


def tell(reasons: Sequence[tuple[int, str]]) -> None:
    """Say what the bits mean in this process."""
    _told[:] = [(bit, reason) for bit, reason in reasons]


def reasons() -> Sequence[tuple[int, str]]:
    """Return (bit, reason) of every reason that the contract names."""
    if not _told:
        tell(tables())
    return _told


def tables() -> list[tuple[int, str]]:
    from ...vocabulary.device_faults import clock_reasons  # noqa: PLC0415  see above

    return [(one.bit, one.reason) for one in clock_reasons() if one.reason]
