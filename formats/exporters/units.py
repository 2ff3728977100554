"""Units as vendors write them, in the vocabulary's."""

UNITS: dict[str, tuple[str, float]] = {
    "1": ("1", 1.0),
    "%": ("1", 0.01),
    "By": ("By", 1.0),
    "KB": ("By", 1e3),
    "KiB": ("By", 1024.0),
    "MB": ("By", 1e6),
    "MiB": ("By", 1048576.0),
    "By/s": ("By/s", 1.0),
    "KB/s": ("By/s", 1e3),
    "MB/s": ("By/s", 1e6),
    "MiB/s": ("By/s", 1048576.0),
    "GB/s": ("By/s", 1e9),
    "MB/ms": ("By/s", 1e9),
    "Mb/s": ("By/s", 125e3),
    "By in 20 ms": ("By/s", 50.0),
    "MB/s of 1000 KiB": ("By/s", 1024e3),
    "MHz": ("Hz", 1e6),
    "Hz": ("Hz", 1.0),
    "Cel": ("Cel", 1.0),
    "W": ("W", 1.0),
    "mW": ("W", 1e-3),
    "dBm": ("W", 1.0),
    "V": ("V", 1.0),
    "mV": ("V", 1e-3),
    "J": ("J", 1.0),
    "mJ": ("J", 1e-3),
    "uJ": ("J", 1e-6),
    "s": ("s", 1.0),
    "ms": ("s", 1e-3),
    "us": ("s", 1e-6),
    "ns": ("s", 1e-9),
    "GT/s": ("1", 1.0),
}
"""The vocabulary's unit and the factor to it. dBm and GT/s are no factors: see `curve`."""

_GENERATIONS = (2.5, 5.0, 8.0, 16.0, 32.0, 64.0, 128.0)


def curve(unit: str, value: float) -> float | None:
    """Convert a value whose unit is no multiple of the vocabulary's; None for no value of the unit.

    dBm are decibels over a milliwatt; GT/s become the PCIe generation that has this rate.
    """
    if unit == "dBm":
        return float(10.0 ** ((value - 30.0) / 10.0)) if -200.0 < value < 100.0 else None
    for generation, rate in enumerate(_GENERATIONS, start=1):
        if abs(value - rate) <= 0.05 * rate:
            return float(generation)
    return None


CURVES = frozenset({"dBm", "GT/s"})
