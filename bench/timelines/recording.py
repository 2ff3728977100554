"""What reporters have read, as OTLP JSON lines: one push of a host a line."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from .. import otlp_lines

PointScalar = str | int | float
PointAttributes = tuple[tuple[str, PointScalar], ...]
PUSH_SECONDS = 5.0


@dataclass(slots=True)
class AgentState:
    """An agent on a host. `clock_error` (s) is what its timestamps are ahead of true time."""

    started: float = 0.0
    silent: bool = False
    gone: bool = False
    clock_error: float = 0.0
    bases: dict[tuple[int | None, str, PointAttributes], float] = field(default_factory=dict)
    last: dict[tuple[int | None, str, PointAttributes], float] = field(default_factory=dict)


class PointRecorder:
    """Keeps points by the push that carries them. `epoch`: when simulated time 0 is."""

    def __init__(self, epoch: float, job: str) -> None:
        self.epoch, self.job = epoch, job
        self.resources: dict[str, dict[str, PointScalar]] = {}
        self.agents: dict[str, AgentState] = {}
        self._pushes: dict[tuple[int, str], dict[int | None, dict[str, list[str]]]] = {}
        self._events: list[tuple[float, str]] = []
        self._heads: dict[PointAttributes, str] = {}

    def add_host(self, host: str, resource: dict[str, PointScalar]) -> None:
        self.resources[host] = resource
        self.agents[host] = AgentState()

    def restart_agent(self, host: str, now: float) -> None:
        """Let an agent report again, with counters that start at 0 now."""
        agent = self.agents[host]
        agent.silent, agent.started = False, now
        agent.bases = dict(agent.last)

    def gauge(
        self,
        host: str,
        attempt: int | None,
        metric: str,
        attributes: PointAttributes,
        at: float,
        value: float,
    ) -> None:
        self._put(host, attempt, metric, attributes, at, value)

    def counter(
        self,
        host: str,
        attempt: int | None,
        metric: str,
        attributes: PointAttributes,
        at: float,
        value: float,
    ) -> None:
        """Record a total since the host's start, as its agent counts it: since the agent's."""
        agent, key = self.agents[host], (attempt, metric, attributes)
        agent.last[key] = value
        since = value - agent.bases.get(key, 0.0)
        self._put(host, attempt, metric, attributes, at, since, start=agent.started)

    def event(
        self,
        host: str,
        attempt: int | None,
        name: str,
        attributes: dict[str, PointScalar],
        at: float,
    ) -> None:
        agent = self.agents[host]
        if agent.gone:
            return
        resource, shown = self._resource(host, attempt), self._shown(agent, at)
        line = otlp_lines.log_request(resource, name, shown, attributes.items())
        self._events.append((at, line))

    def lines(self) -> Iterator[str]:
        """Yield requests in the order in which they are sent; of one push, metrics first."""
        rows = [((slot + 1) * PUSH_SECONDS, 0, host, slot) for slot, host in self._pushes]
        logs = [(at, 1, "", index) for index, (at, _) in enumerate(self._events)]
        for _, is_log, host, index in sorted([*rows, *logs]):
            yield self._events[index][1] if is_log else self._line(host, self._pushes[index, host])

    def _put(
        self,
        host: str,
        attempt: int | None,
        metric: str,
        attributes: PointAttributes,
        at: float,
        value: float,
        *,
        start: float | None = None,
    ) -> None:
        agent = self.agents[host]
        if agent.silent or agent.gone:
            return
        head = self._heads.get(attributes)
        if head is None:
            head = self._heads[attributes] = otlp_lines.attributes_text(attributes)
        began = None if start is None else self._shown(agent, start)
        push = self._pushes.setdefault((int(at // PUSH_SECONDS), host), {})
        push.setdefault(attempt, {}).setdefault(metric, []).append(
            otlp_lines.point_text(otlp_lines.point_head(head, began), self._shown(agent, at), value)
        )

    def _line(self, host: str, push: dict[int | None, dict[str, list[str]]]) -> str:
        return otlp_lines.metrics_request(
            (self._resource(host, attempt), metrics) for attempt, metrics in push.items()
        )

    def _resource(self, host: str, attempt: int | None) -> str:
        named = {"service.name": "rankscope-agent", "host.name": host, **self.resources[host]}
        if attempt is not None:
            named |= {"rankscope.job.id": self.job, "rankscope.job.attempt": attempt}
        return otlp_lines.resource_text(named.items())

    def _shown(self, agent: AgentState, at: float) -> float:
        """Return when something was by an agent's clock, in seconds since the epoch."""
        return self.epoch + (at + agent.clock_error)
