"""A worker as the agent sees it: a process started, read line by line, and left behind at need."""

import importlib.util
import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import clock_words

_BEGIN = (
    "import sys; sys.path[:0] = {folders!r}; from rankscope.agent.nvml.starting import main; main()"
)
_LONGEST = 1 << 20
"""Bytes a line may have: a device of many links and processes takes some 20 KiB."""

_log = logging.getLogger(__name__)


class WorkerProcess:
    """A running worker. `receive(worker, message)` is called on its thread, with None at the end.

    Raises OSError when the process cannot be started.
    """

    def __init__(
        self,
        *,
        subjects: Sequence[str],
        period: float,
        receive: Callable[["WorkerProcess", Mapping[str, Any] | None], None],
    ) -> None:
        asked = json.dumps(
            {"subjects": list(subjects), "period": period, "clock_words": clock_words.tables()}
        )
        # A bare interpreter: no site-packages but pynvml's, no .pth files, no user's settings. It
        # costs 10 MiB where the agent's own parts would cost 30.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _BEGIN.format(folders=_folders()), asked],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "MALLOC_ARENA_MAX": "1"},
            start_new_session=True,
        )
        self.pid = self._process.pid
        self.last_received = time.monotonic()
        """When it last wrote anything, in monotonic seconds."""
        self._receive = receive
        self._left = False
        threading.Thread(target=self._listen, name="nvml", daemon=True).start()

    def leave(self) -> None:
        """End it without waiting: a process inside a hung driver call cannot be ended."""
        self._left = True
        self._process.kill()
        self._hang_up()

    def ended(self) -> bool:
        """Return whether the process is gone; it is never waited for."""
        return self._process.poll() is not None

    def _hang_up(self) -> None:
        if self._process.stdin:
            self._process.stdin.close()

    def _listen(self) -> None:
        out = self._process.stdout
        while out and (line := out.readline(_LONGEST)):
            self.last_received = time.monotonic()
            if self._left:
                continue
            try:
                message = json.loads(line)
            except ValueError:
                _log.warning("a line of the NVML worker could not be read: %.80r", line)
                continue
            self._receive(self, message)
        if out:
            out.close()
        self._hang_up()
        self._process.wait()  # on this thread it may take for ever
        if not self._left:
            self._receive(self, None)


def _folders() -> list[str]:
    """Return where the worker finds this package, and pynvml."""
    here = Path(__file__).absolute().parents[3]
    spec = importlib.util.find_spec("pynvml")
    return [str(here), *([str(Path(spec.origin).parent)] if spec and spec.origin else [])]
