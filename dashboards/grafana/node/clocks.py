"""Heat, power, clocks and what holds them down."""

from ..panels import PLAIN, AnyPanel, above, lines, states
from ..queries import HOST, PanelQuery, by_gpu
from .selection import GPU

_HELD = f'hw_gpu_throttle{{{HOST}, reason!~"idle|clocks_setting"}}'


def clocks_row() -> list[AnyPanel]:
    """Return the panels of the row "Heat, power and clocks"."""
    return [
        lines(
            "Temperature",
            "By sensor; a device slows itself where its limit is reached.",
            "celsius",
            PanelQuery(
                by_gpu(f"hw_temperature_celsius{{{HOST}}}", "hw_sensor"),
                f"{GPU} {{{{hw_sensor}}}}",
            ),
            steps=above(80, 88),
            least=None,
            marked=True,
            size=(8, 8),
        ),
        lines(
            "Power",
            "Power drawn, and the limit in force.",
            "watt",
            PanelQuery(by_gpu(f"hw_power_watts{{{HOST}}}"), GPU),
            PanelQuery(f"max(hw_power_limit_watts{{{HOST}}})", "limit"),
            steps=PLAIN,
            size=(8, 8),
        ),
        lines(
            "SM clock",
            "Clock of the compute units, and the highest allowed now.",
            "hertz",
            PanelQuery(by_gpu(f'hw_frequency_hertz{{{HOST}, domain="sm"}}'), GPU),
            PanelQuery(f'max(hw_frequency_limit_hertz{{{HOST}, domain="sm"}})', "limit"),
            steps=PLAIN,
            least=None,
            size=(8, 8),
        ),
        states(
            "What holds the clocks down",
            "A row for each device and reason that was active in the time range. Idle and "
            "application clocks are left out.",
            PanelQuery(
                f"{by_gpu(_HELD, 'reason')} and on (host_name, gpu, reason)"
                f" (max_over_time({_HELD}[$__range] @ end()) > 0)",
                f"{GPU} {{{{reason}}}}",
            ),
            steps=above(1, 1)[::2],
            none="nothing held the clocks down",
            size=(24, 5),
        ),
    ]
