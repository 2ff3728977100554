"""What a settings file holds, however it was read."""

from dataclasses import dataclass, field
from typing import Any

from .errors import SettingsProblem


@dataclass(slots=True)
class SettingsFile:
    """What stands in a file: nested values, the line of every key path, and what is wrong."""

    values: dict[str, Any] = field(default_factory=dict)
    lines: dict[tuple[str | int, ...], int] = field(default_factory=dict)
    problems: list[SettingsProblem] = field(default_factory=list)
