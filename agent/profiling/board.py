"""The file beside the agent's socket in which probes find what is asked of them."""

import contextlib
import os
import tempfile
from pathlib import Path

from ...vocabulary import profiling
from ...vocabulary.profiling import ProfileRequest


class RequestBoard:
    """Requests by (id, rank); the file is there only while there is one."""

    def __init__(self, socket: Path) -> None:
        self._path = profiling.requests_file(socket)
        self._requests: dict[tuple[str, int], ProfileRequest] = {}
        self._remove()  # one that an agent left when it was killed

    def __contains__(self, key: tuple[str, int]) -> bool:
        """Return whether a request (id, rank) is there."""
        return key in self._requests

    def find(self, identity: str, rank: int) -> ProfileRequest | None:
        """Return a request, None where there is no such one."""
        return self._requests.get((identity, rank))

    def put(self, request: ProfileRequest) -> None:
        """Let probes find a request. Raises OSError."""
        self._requests[request.id, request.rank] = request
        self._write()

    def take(self, request: ProfileRequest) -> None:
        self._requests.pop((request.id, request.rank), None)
        with contextlib.suppress(OSError):
            self._write()

    def everything(self) -> list[ProfileRequest]:
        return list(self._requests.values())

    def close(self) -> None:
        """Take the file away."""
        self._requests.clear()
        self._remove()

    def _write(self) -> None:
        if not self._requests:
            self._remove()
            return
        # Probes of every user read it, and none may see half of it: a new file each time.
        handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=self._path.name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(profiling.pack(self._requests.values()))
                os.fchmod(file.fileno(), 0o644)
            Path(name).replace(self._path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    def _remove(self) -> None:
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)
