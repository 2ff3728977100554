"""The main thread in what py-spy writes of a process that runs: in a dump, or in a recording.

Threads have names once the process has imported `threading`; the main one has its pid.
"""

import json
import re
from collections.abc import Mapping
from itertools import chain
from pathlib import PurePath
from typing import Any

_CALL = re.compile(r"\s+(?P<name>\S.*) \((?P<place>[^()]+)\)")


def main_thread(text: str) -> list[str]:
    """Return its calls in a dump, `name (file:line)`, the innermost first.

    Native ones may have no line.
    """
    calls: list[str] = []
    main, inside = "\0", False
    for line in text.splitlines():
        if line.startswith("Process "):
            main = f"Thread {line.removeprefix('Process ').partition(':')[0]} "
        elif line.startswith("Thread "):
            inside = '"MainThread"' in line or ('"' not in line and line.startswith(main))
        elif inside and (call := _CALL.fullmatch(line)) is not None:
            calls.append(f"{call['name']} ({PurePath(call['place']).name})")
    return calls


def recorded(text: bytes, pid: int) -> list[list[str]]:
    """Return its calls at each look of a recording (`py-spy record --format speedscope`).

    In the order of time, each as in a dump. Raises ValueError for what is no recording.
    """
    try:
        document = json.loads(text)
        frames = [_frame(row) for row in document["shared"]["frames"]]
        threads: list[Mapping[str, Any]] = document["profiles"]
        looks = chain.from_iterable(
            thread["samples"] for thread in threads if _is_main(str(thread["name"]), pid)
        )
        return [[frames[number] for number in reversed(look)] for look in looks]
    except (KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"no recording of py-spy: {error!r}") from error


def _is_main(name: str, pid: int) -> bool:
    return '"MainThread"' in name or ('"' not in name and name.endswith(f"Thread {pid}"))


def _frame(row: Mapping[str, Any]) -> str:
    place, line = PurePath(str(row.get("file") or "")).name, row.get("line")
    return f"{row['name']} ({place}:{line})" if line else f"{row['name']} ({place})"
