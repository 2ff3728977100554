"""Dumps as torch writes them, for tests: a job's groups, counters and operations by rank."""

import pickle
from typing import Any

WORLD = ("0", "default_pg", (0, 1, 2, 3))


def operation(number: int, op: str = "all_reduce", **changed: Any) -> dict[str, Any]:
    """Return one entry of the world's group, open since 1000 s."""
    return {
        "record_id": number, "pg_id": 0, "process_group": ("0", "default_pg"),
        "collective_seq_id": number, "p2p_seq_id": 0, "profiling_name": f"gloo:{op}",
        "time_created_ns": 1_000_000_000_000 + number, "input_sizes": [[4]],
        "input_dtypes": ["Float"], "output_sizes": [[4]], "output_dtypes": ["Float"],
        "state": "scheduled", "time_discovered_completed_ns": None, "retired": False,
        "timeout_ms": 60_000, "is_p2p": False,
        "frames": [{"name": "step", "filename": "train.py", "line": 7}],
    } | changed  # fmt: skip


def fields(
    enqueued: int,
    completed: int,
    entries: list[dict[str, Any]] | None = None,
    groups: tuple[tuple[str, str, tuple[int, ...]], ...] = (WORLD,),
) -> dict[str, Any]:
    """Return the fields of the dump of a rank that stands so in each of the groups."""
    return {
        "version": "2.10",
        "pg_config": {
            name: {"name": name, "desc": desc, "ranks": str(list(ranks))}
            for name, desc, ranks in groups
        },
        "pg_status": {
            str(number): {
                "last_enqueued_collective": enqueued,
                "last_started_collective": -1,
                "last_completed_collective": completed,
            }
            for number, _ in enumerate(groups)
        },
        "entries": entries or [],
    }


def dump(enqueued: int, completed: int, entries: list[dict[str, Any]] | None = None) -> bytes:
    """Return the pickle of a rank that stands so in the world's group."""
    return pickle.dumps(fields(enqueued, completed, entries))
