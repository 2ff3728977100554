"""Checks on request: the agent asks for them as for profiles, and runs `rankscope check`.

What comes is a name of a check and of an incident; what it measures is this host's own program. It
runs as a child, so that a driver that hangs takes nothing along, and sends its own results.
"""

import logging
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Protocol

from .asking import CollectorCallError
from .polling import PolledRequests

if TYPE_CHECKING:
    from ..settings import CheckingSettings

_NAME = re.compile(r"[a-z][a-z_]{0,63}")
_ID = re.compile(r"[0-9A-Za-z]{1,64}")
_GRACE_SECONDS = 30.0
"""Beyond its own end, after which a check is killed."""
_LONGEST = 300

_log = logging.getLogger(__name__)


class CheckApi(Protocol):
    """The collector, as far as checks need it; every call raises CollectorCallError."""

    def checks(self, host: str) -> Sequence[object]: ...

    def refuse_check(self, identity: str, text: str) -> None:
        """Say why a check is not run."""
        ...


class CheckService(PolledRequests):
    """Runs the checks that are asked for.

    `environment`: what the child needs to send its results: address, token, the host's name.
    """

    def __init__(
        self,
        settings: "CheckingSettings",
        *,
        host: str,
        collector: CheckApi,
        environment: Mapping[str, str],
        now: Callable[[], float],
        command: Sequence[str] = (sys.executable, "-m", "rankscope.cli.main", "check"),
    ) -> None:
        super().__init__("checking", "requests for checks", seconds=settings.poll_seconds)
        self._settings = settings
        self._host = host
        self._collector = collector
        self._environment = environment
        self._now = now
        self._command = command
        self._checked: float | None = None

    def _fetched(self) -> Sequence[object]:
        return self._collector.checks(self._host)

    def _obey(self, row: object) -> None:
        identity, check, incident = (
            str(row.get(key, "")) if isinstance(row, Mapping) else ""
            for key in ("id", "check", "incident")
        )
        if _ID.fullmatch(identity) is None:
            _log.warning("the collector sent an invalid request for a check")
            return
        why = self._refusal(check, incident) or self._measured(check, incident)
        if why:
            _log.warning("check %s is not run: %s", check[:64], why)
            self._refuse(identity, why)

    def _refusal(self, check: str, incident: str) -> str:
        """Return why this agent does not run a check, "" where it does."""
        limits = self._settings
        if _NAME.fullmatch(check) is None or _ID.fullmatch(incident) is None:
            return "the request is invalid"
        if limits.checks and not any(fnmatchcase(check, one) for one in limits.checks):
            return "this agent allows no such check (checking.checks)"
        if self._checked is not None and self._now() - self._checked < limits.interval_seconds:
            return (
                f"checked {self._now() - self._checked:.0f} s ago; this agent allows one check in "
                f"{limits.interval_seconds:.0f} s (checking.interval_seconds)"
            )
        return ""

    def _measured(self, check: str, incident: str) -> str:
        """Run a check; return why it gave no results, "" where it did."""
        self._checked = self._now()
        seconds = int(self._settings.seconds)
        command = (
            *self._command, "--only", check, "--incident", incident, "--host", self._host,
            "--seconds", str(seconds), "--json",
        )  # fmt: skip
        try:
            ended = subprocess.run(
                command,
                env={**os.environ, **self._environment},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=seconds + _GRACE_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"it did not end within {seconds + _GRACE_SECONDS:.0f} s"
        except OSError as error:
            return f"it cannot be started: {error.strerror}"
        said = " ".join(ended.stderr.decode(errors="replace").split())
        # 0 and 1 are results; what it complains of is that they could not be sent.
        if ended.returncode in (0, 1) and not said:
            return ""
        return said[-_LONGEST:] or f"it ended with {ended.returncode}"

    def _refuse(self, identity: str, text: str) -> None:
        try:
            self._collector.refuse_check(identity, text[:_LONGEST])
        except CollectorCallError as error:
            _log.warning("the collector did not accept a refusal (%s): %s", text, error)
