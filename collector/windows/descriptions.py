"""What devices are, as `hw.gpu.info` describes them."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class DeviceDescriptions:
    """Models and numbers on their host, by `hw.id`."""

    models: dict[str, str] = field(default_factory=dict)
    indices: dict[str, int] = field(default_factory=dict)
