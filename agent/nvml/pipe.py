"""The worker's pipe to the agent: JSON messages, one a line, from any thread."""

import json
import os
import threading
from typing import Any, NoReturn

_encoded = json.JSONEncoder(separators=(",", ":")).encode


class LinePipe:
    """Writes whole lines to a file descriptor, in the order in which they were given."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lock = threading.Lock()
        self._gathered: list[str] = []

    def write(self, **message: Any) -> None:
        """Write one message at once; when nobody reads any more, end the process."""
        self.gather(**message)
        self.flush()

    def gather(self, **message: Any) -> None:
        """Keep a message for the next `flush`: several devices' readings wake the agent once."""
        line = _encoded(message)
        with self._lock:
            self._gathered.append(line)

    @property
    def waiting(self) -> bool:
        """Return whether something is gathered that is not written yet."""
        return bool(self._gathered)

    def flush(self) -> None:
        """Write what was gathered."""
        with self._lock:
            if not self._gathered:
                return
            data = ("\n".join(self._gathered) + "\n").encode()
            self._gathered.clear()
            while data:
                try:
                    data = data[os.write(self._fd, data) :]
                except BrokenPipeError:
                    leave(0)


def leave(code: int) -> NoReturn:
    """End at once: a thread inside the library would keep an ordinary end waiting."""
    os._exit(code)
