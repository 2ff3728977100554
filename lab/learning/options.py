"""What was asked on the command line of `rankscope lab learn`."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Options:
    """`seeds` are those of the fresh cases; `picture` is where calibration draws reliability."""

    results: Path
    seeds: tuple[int, ...]
    version: str = ""
    write: bool = False
    as_json: bool = False
    collected_only: bool = False
    picture: Path | None = None
