"""The worker's pipe to the agent: JSON messages, one a line, from any thread."""

import json
import os
import threading
from typing import Any, NoReturn


class LinePipe:
    """Writes whole lines to a file descriptor."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lock = threading.Lock()

    def write(self, **message: Any) -> None:
        """Write one message; when nobody reads any more, end the process."""
        data = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        with self._lock:
            while data:
                try:
                    data = data[os.write(self._fd, data) :]
                except BrokenPipeError:
                    leave(0)


def leave(code: int) -> NoReturn:
    """End at once: a thread inside the library would keep an ordinary end waiting."""
    os._exit(code)
