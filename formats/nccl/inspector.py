"""NCCL Inspector's JSON lines: operations that ended, how long each took on each rank.

Silent about the operation that hangs, so it is for slowness. `rank` is that in the communicator;
operations are joined over ranks by the communicator's id and their number in it. Formats: v4.0 and
before (some without `comm_name`).
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .. import json_text, names

_MICROSECONDS = 1e-6
_CLOCKS = {"kernel_gpu": "gpu", "kernel_cpu": "host", "collective_cpu": "host"}
_PARTS = (("coll_perf", "coll"), ("p2p_perf", "p2p"))


@dataclass(frozen=True, slots=True)
class InspectorOperation:
    """One operation that ended on one rank. Times in seconds, `size` in bytes, bandwidth in By/s.

    `at` is when it was written, seconds since the epoch; `clock` what measured it: gpu or host.
    began_at, ended_at: of verbose files alone.
    """

    communicator: str
    name: str
    rank: int
    ranks: int
    host: str
    pid: int
    at: float
    op: str
    sequence: int
    size: int
    seconds: float
    bus_bandwidth: float | None
    clock: str
    p2p: bool
    began_at: float | None = None
    ended_at: float | None = None


def is_record(head: bytes) -> bool:
    """Tell whether a file that begins so may be one of Inspector."""
    return head.lstrip()[:1] == b"{" and (b'"coll_perf"' in head or b'"p2p_perf"' in head)


def read(lines: Iterable[bytes | str]) -> Iterator[InspectorOperation | None]:
    """Yield the operation of each line, None for a line that holds none that can be read."""
    for line in lines:
        if not line.strip():
            continue
        row = json_text.value(line)
        yield _operation(row) if isinstance(row, dict) else None


def _operation(row: Mapping[str, Any]) -> InspectorOperation | None:
    header, metadata = _mapping(row.get("header")), _mapping(row.get("metadata"))
    for part, prefix in _PARTS:
        perf = _mapping(row.get(part))
        if not perf:
            continue
        seconds = _number(perf.get(f"{prefix}_exec_time_us")) * _MICROSECONDS
        sequence, rank = _number(perf.get(f"{prefix}_sn")), _number(header.get("rank"))
        at = _number(metadata.get("dump_timestamp_us")) * _MICROSECONDS
        if not (math.isfinite(seconds + sequence + rank + at) and seconds >= 0 and rank >= 0):
            return None
        bandwidth = _number(perf.get(f"{prefix}_busbw_gbs")) * 1e9
        times = _mapping(perf.get("event_trace_ts") or row.get("event_trace_ts"))
        return InspectorOperation(
            communicator=names.shown(header.get("id", "")),
            name=names.shown(header.get("comm_name", "")),
            rank=int(rank),
            ranks=int(_whole(header.get("n_ranks"))),
            host=names.shown(metadata.get("hostname", "")),
            pid=int(_whole(metadata.get("pid"))),
            at=at,
            op=names.kind(perf.get(prefix, "")),
            sequence=int(sequence),
            size=int(_whole(perf.get(f"{prefix}_msg_size_bytes"))),
            seconds=seconds,
            bus_bandwidth=bandwidth if math.isfinite(bandwidth) else None,
            clock=_CLOCKS.get(str(perf.get(f"{prefix}_timing_source")), "host"),
            p2p=prefix == "p2p",
            began_at=_moment(times.get(f"{prefix}_start_ts")),
            ended_at=_moment(times.get(f"{prefix}_stop_ts")),
        )
    return None


def _mapping(value: Any) -> Mapping[str, Any]:
    found: Mapping[str, Any] = value if isinstance(value, dict) else {}
    return found


def _number(value: Any) -> float:
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if plain and abs(value) < 1e18 else math.nan


def _moment(value: Any) -> float | None:
    """Return microseconds since the epoch in seconds, None for anything else."""
    found = _number(value)
    return found * _MICROSECONDS if 1e15 < found < 1e16 else None


def _whole(value: Any) -> float:
    found = _number(value)
    return found if math.isfinite(found) else 0.0
