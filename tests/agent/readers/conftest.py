"""Trees like /proc as tests need them, and trainers to read about."""

from collections.abc import Callable
from pathlib import Path

import pytest

from rankscope.agent.trainers import TrainerProcess


@pytest.fixture
def proc(tmp_path: Path) -> Callable[..., Path]:
    """Write files below a root that stands for /proc; return the root."""
    root = tmp_path / "proc"

    def write(**files: str) -> Path:
        for name, text in files.items():
            path = root / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        root.mkdir(exist_ok=True)
        return root

    return write


@pytest.fixture
def make_trainer() -> Callable[..., TrainerProcess]:
    def make(pid: int | None, *, rank: int = 0, container_pid: int | None = None) -> TrainerProcess:
        return TrainerProcess(
            key=("", pid or 0),
            job="job-1",
            attempt=0,
            rank=rank,
            pid=pid,
            container_pid=container_pid,
            last_received=0.0,
        )

    return make
