"""Slurm carries actions out: `scontrol` of this machine drains nodes, requeues and suspends jobs.

A node is drained before its job is requeued, so that the job cannot come back to it. A requeue is
not repeated: the job's number of restarts is looked at first. A node that somebody else drained
stays theirs: undoing resumes only a node whose reason is ours.
"""

import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ....vocabulary.clock import Clock
from ....vocabulary.remedies import RemedyKind
from ...settings.actions import ExecutorSettings
from .contract import Allowed, RefusedOrderError, RemedyOrder, UnansweredOrderError

KINDS: frozenset[RemedyKind] = frozenset(("exclude_node", "requeue", "pause"))
_SECONDS = 15.0
_JOB = re.compile(r"[0-9]{1,18}(?:_[0-9]{1,9})?")
_NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}")
_PAIR = re.compile(r"(?:^|\s)([A-Za-z][A-Za-z:/]*)=(.*?)(?=\s[A-Za-z][A-Za-z:/]*=|\s*$)")
_RUNNING = frozenset(("RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING"))
_AGAIN = ("unable to contact", "connection", "timed out", "timeout", "try again", "socket")
"""Words of errors that speak of the controller's state and not of the request."""
_LONGEST = 200


class SlurmExecutor:
    """Slurm by `scontrol`. Needs the rights of an operator."""

    asks_only_what_is_left = True

    def __init__(self, settings: ExecutorSettings) -> None:
        self.kinds = KINDS & frozenset(settings.actions or KINDS)
        self._scontrol: Path = settings.scontrol

    def look(self, order: RemedyOrder) -> Mapping[str, Any]:
        """Return the job's state and restarts, and the node's state."""
        seen: dict[str, Any] = {}
        if order.action == "exclude_node":
            seen["node"], row = self._node(str(order.host))
            seen["node_state"] = row.get("State", "")
        if _JOB.fullmatch(order.job):
            row = self._job(order.job)
            seen["job_state"], seen["restarts"] = row.get("JobState", ""), _restarts(row)
        elif order.action != "exclude_node":
            raise RefusedOrderError(f"{order.job!r} is no job id of Slurm")
        if order.action != "exclude_node" and seen["job_state"] not in _RUNNING:
            raise RefusedOrderError(f"job {order.job} is {seen['job_state'] or 'not there'}")
        return seen

    def carry_out(self, order: RemedyOrder, seen: Mapping[str, Any], allowed: Allowed) -> str:
        """Drain the node, then requeue the job; or requeue or suspend it."""
        done = []
        if order.action == "exclude_node":
            done.append(self._drain(order, str(seen["node"]), allowed))
        if order.action == "pause":
            done.append(self._suspend(order, allowed))
        elif seen.get("job_state") in _RUNNING:
            done.append(self._requeue(order, int(seen["restarts"]), allowed))
        return "; ".join(done)

    def undo(self, order: RemedyOrder, seen: Mapping[str, Any], allowed: Allowed) -> str:
        """Resume the node that was drained here, or the job that was suspended."""
        if order.action == "pause":
            if self._job(order.job).get("JobState") != "SUSPENDED":
                return f"job {order.job} is not suspended"
            allowed()
            self._run("resume", order.job)
            return f"job {order.job} goes on"
        node = str(seen["node"])
        _, row = self._node(node)
        if not _ours(row, order):
            return f"{node} was not drained by this action, and stays as it is"
        allowed()
        self._run("update", f"NodeName={node}", "State=RESUME")
        return f"{node} is back"

    def _drain(self, order: RemedyOrder, node: str, allowed: Allowed) -> str:
        _, row = self._node(node)
        if "DRAIN" in row.get("State", ""):
            return f"{node} is drained" if _ours(row, order) else f"{node} was drained already"
        allowed()
        reason = f"{_mark(order)}: {order.reason}"[:_LONGEST]
        self._run("update", f"NodeName={node}", "State=DRAIN", f"Reason={reason}")
        _, row = self._node(node)
        if "DRAIN" not in row.get("State", ""):
            raise UnansweredOrderError(f"{node} is {row.get('State')} after it was drained")
        return f"{node} is drained"

    def _requeue(self, order: RemedyOrder, restarts: int, allowed: Allowed) -> str:
        row = self._job(order.job)
        if _restarts(row) > restarts:
            return f"job {order.job} was requeued"
        if row.get("JobState") not in _RUNNING:
            return f"job {order.job} is {row.get('JobState') or 'gone'} by now"
        allowed()
        self._run("requeue", order.job)
        return f"job {order.job} was requeued"

    def _suspend(self, order: RemedyOrder, allowed: Allowed) -> str:
        if self._job(order.job).get("JobState") != "SUSPENDED":
            allowed()
            self._run("suspend", order.job)
        return f"job {order.job} is suspended"

    def _job(self, job: str) -> Mapping[str, str]:
        """Return the fields of a job, none where Slurm has forgotten it."""
        try:
            return _fields(self._run("show", "--oneliner", "job", job))
        except RefusedOrderError as error:
            if "Invalid job id" in str(error):
                return {}
            raise

    def _node(self, host: str) -> tuple[str, Mapping[str, str]]:
        """Return a node's name in Slurm and its fields; hosts may report longer names."""
        if not _NODE.fullmatch(host):
            raise RefusedOrderError(f"{host!r} is no name of a node")
        for name in dict.fromkeys((host, host.partition(".")[0])):
            try:
                return name, _fields(self._run("show", "--oneliner", "node", name))
            except RefusedOrderError as error:
                if "not found" not in str(error):
                    raise
        raise RefusedOrderError(f"Slurm has no node {host}")

    def _run(self, *arguments: str) -> str:
        command: Sequence[str] = (str(self._scontrol), *arguments)
        try:
            ended = subprocess.run(
                command,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise UnansweredOrderError(f"scontrol gave no answer in {_SECONDS:.0f} s") from None
        except OSError as error:
            raise UnansweredOrderError(f"{self._scontrol}: {error.strerror or error}") from None
        said = " ".join(f"{ended.stdout} {ended.stderr}".split())
        if ended.returncode == 0 and "not found" not in said[:200]:
            return ended.stdout
        if any(word in said.lower() for word in _AGAIN):
            raise UnansweredOrderError(said[-300:])
        raise RefusedOrderError(said[-300:] or f"scontrol ended with {ended.returncode}")


def executor(settings: ExecutorSettings, clock: Clock) -> SlurmExecutor:  # noqa: ARG001
    return SlurmExecutor(settings)


def _mark(order: RemedyOrder) -> str:
    return f"rankscope action {order.id}"


def _ours(row: Mapping[str, str], order: RemedyOrder) -> bool:
    return row.get("Reason", "").startswith(_mark(order))


def _restarts(row: Mapping[str, str]) -> int:
    text = row.get("Restarts", "0")
    return int(text) if text.isdecimal() else 0


def _fields(text: str) -> Mapping[str, str]:
    """Return the fields of one record of `scontrol show --oneliner`."""
    lines = text.strip().splitlines()
    return dict(_PAIR.findall(lines[0])) if lines else {}
