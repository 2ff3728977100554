"""The main thread in what `py-spy dump` writes of a process that runs."""

import re
from pathlib import PurePath

_CALL = re.compile(r"\s+(?P<name>\S.*) \((?P<place>[^()]+)\)")


def main_thread(text: str) -> list[str]:
    """Return its calls as `name (file:line)`, the innermost first; native ones may have no line.

    Threads have names once the process has imported `threading`; the main one has its pid.
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
