"""Faults of the job itself: its memory, balance, software, numbers and efficiency."""

from typing import Any

from . import crash, nan_data, nan_rank, stuck_process

FAULTS: dict[str, Any] = {
    "stuck_process": stuck_process.StuckProcess,
    "nan_rank": nan_rank.NanRank,
    "crash": crash.Crash,
    "nan_data": nan_data.NanData,
}
