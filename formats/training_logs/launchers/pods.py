"""What `kubectl describe pod` says of a pod: where it ran, and how its containers ended."""

from dataclasses import dataclass, field
from datetime import datetime

from ....vocabulary.patterns import DeferredPattern
from .forms import LaunchForm, ReportKind
from .reports import LaunchReport

NEEDLES = ("Name:  ", "State:  ")
"""A description begins so, or what somebody cut out of one: names of fields are padded."""

_FIELD = DeferredPattern(r"([A-Z][\w ]{1,24}):(?:\s+(.*))?")
_NAME = DeferredPattern(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")
_STATES = ("State", "Last State")
_GPUS = DeferredPattern(r"(?:nvidia\.com/gpu|amd\.com/gpu|huawei\.com/\w+): +(\d{1,3})$")
_INDEX = DeferredPattern(
    r"(?P<part>master|launcher|head|chief|leader|server)?-(?P<index>\d{1,6})(?:-[a-z0-9]{5})?$"
)
_LONGEST, _LONGEST_PART = 2000, 12
"""Lines of a description, and of a state that was cut out of one; then it is something else."""
_TAKEN = {"Evicted": "Evicted", "Preempting": "Preempted", "NodeLost": "NodeLost",
          "NodeShutdown": "NodeShutdown", "Terminated": "Terminated"}  # fmt: skip
"""Reasons for which a whole pod ends."""
_TAKEN_CODES = frozenset({137, 143})
"""Exit codes of containers that were ended from outside."""
_FIRST = frozenset({"master", "chief", "leader"})


def _form(name: str, kind: ReportKind, meaning: str, reason: str = "") -> LaunchForm:
    return LaunchForm(name, kind, "", DeferredPattern(""), meaning, "rank", reason=reason)


ENDED = _form("kubernetes.container_ended", "exit", "How a container ended")
OOM = _form("kubernetes.oom_killed", "oom", "A container was killed for memory beyond its limit")


@dataclass(slots=True)
class _ContainerState:
    """The end of a container; `line`: where its reason or code stands."""

    line: int = 0
    reason: str = ""
    code: int | None = None
    finished: float | None = None

    @property
    def own(self) -> bool:
        """Return whether the container ended by itself, whatever became of its pod."""
        return self.reason != "ContainerStatusUnknown" and self.code not in _TAKEN_CODES


@dataclass(slots=True)
class PodDescription:
    """Follows a description, line by line."""

    left: int = 0
    name: str = ""
    node: str = ""
    gpus: int = 0
    taken: tuple[int, str, str] | None = None
    """Line, reason and message of the end of the whole pod."""
    states: list[_ContainerState] = field(default_factory=list[_ContainerState])
    place: str = ""
    """The node of the pod that was described last; its events follow."""
    inside: bool = False
    """Whether the line stands below the state of a container."""

    @property
    def open(self) -> bool:
        """Return whether the lines that follow belong to a description."""
        return self.left > 0

    def read(self, text: str, number: int) -> list[LaunchReport]:
        """Take a line; return what a description that ends with it reports."""
        found = _FIELD.fullmatch(text)
        name, value = (found[1], (found[2] or "").strip()) if found else ("", "")
        if name == "Name" and _NAME.fullmatch(value):
            ended = self.end()
            self.left, self.name = _LONGEST, value
            return ended
        if not self.open and name in _STATES and value == "Terminated":
            self.left = _LONGEST_PART
        if not self.open:
            return []
        self.left -= 1
        if name == "Events" or not self.left:
            return self.end()
        if gpus := _GPUS.search(text):
            self.gpus = max(self.gpus, int(gpus[1]))
        self._take(name, value, number)
        return []

    def end(self) -> list[LaunchReport]:
        """Take the end of a description; return what it reports."""
        # What a node takes is killed, and nobody sees how its containers ended.
        own = [one for one in self.states if self.taken is None or one.own]
        found = [self._report(state) for state in own if state.line]
        if self.taken is not None:
            line, reason, message = self.taken
            node = reason in ("NodeLost", "NodeShutdown")
            name = "kubernetes.pod_evicted" if reason == "Evicted" else "kubernetes.pod_ended"
            kind: ReportKind = "node" if node else "stop"
            form = _form(name, kind, "A pod was taken from its node", reason)
            text = f"pod {self.name} on {self.node}: {reason}: {message}".rstrip(": ")
            at = max((one.finished for one in self.states if one.finished), default=None)
            found.append(LaunchReport(form, line, text, host=self.node, at=at, dated=bool(at)))
        self.place = self.node
        self.left, self.name, self.node, self.gpus = 0, "", "", 0
        self.taken, self.states, self.inside = None, [], False
        return found

    def _take(self, name: str, value: str, number: int) -> None:
        if name in _STATES:
            self.inside = value == "Terminated"
            if self.inside:
                self.states.append(_ContainerState())
        elif name == "Ready":
            self.inside = False
        elif name == "Node":
            self.node = "" if value == "<none>" else value.partition("/")[0]
        elif name == "Reason" and not self.inside and value in _TAKEN:
            self.taken = (number, _TAKEN[value], "")
        elif name == "Message" and not self.inside and self.taken is not None:
            self.taken = (*self.taken[:2], value[:200])
        elif self.inside:
            self._state(self.states[-1], name, value, number)

    def _state(self, state: _ContainerState, name: str, value: str, number: int) -> None:
        if name == "Reason":
            state.reason = value
        elif name == "Exit Code" and value.isdigit() and int(value):
            state.line, state.code = number, int(value)
        elif name == "Finished":
            state.finished = _moment(value)

    def _report(self, state: _ContainerState) -> LaunchReport:
        oom = state.reason == "OOMKilled"
        code = state.code
        one = -9 if oom else 128 - code if code is not None and 128 < code < 160 else code
        index, each = index_of(self.name), max(self.gpus, 1)
        where = f" on {self.node}" if self.node else ""
        return LaunchReport(
            OOM if oom else ENDED,
            state.line,
            f"pod {self.name or 'of no name'}{where}: {state.reason}, exit code {code}",
            tasks=() if index is None else tuple(range(index * each, (index + 1) * each)),
            host=self.node or self.name,
            code=one,
            at=state.finished,
            dated=state.finished is not None,
        )


def index_of(name: str) -> int | None:
    """Return the number of a pod in its job, by its name; None where it has none.

    Operators name them JOB-worker-3, an indexed Job JOB-3-x7k2p; a master comes before worker 0.
    """
    found = _INDEX.search(name)
    if found is None:
        return None
    if found["part"]:
        return 0 if found["part"] in _FIRST else None
    return int(found["index"])


def _moment(text: str) -> float | None:
    try:
        return datetime.strptime(text, "%a, %d %b %Y %H:%M:%S %z").timestamp()
    except ValueError:
        return None
