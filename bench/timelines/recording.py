"""What reporters have read, as OTLP JSON lines: one push of a host a line."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from rankscope.vocabulary import metrics as vocabulary

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
        self._put(host, attempt, metric, attributes, at, value, "")

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
        start = f'"startTimeUnixNano":"{self._nano(agent.started + agent.clock_error)}",'
        self._put(host, attempt, metric, attributes, at, value - agent.bases.get(key, 0.0), start)

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
        record = {
            "timeUnixNano": self._nano(at + agent.clock_error),
            "eventName": name,
            "severityNumber": 9,
            "attributes": _attributes(tuple(attributes.items())),
        }
        scope = _json({"scope": {"name": "rankscope"}, "logRecords": [record]})
        resource = self._resource(host, attempt)
        line = f'{{"resourceLogs":[{{"resource":{resource},"scopeLogs":[{scope}]}}]}}'
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
        start: str,
    ) -> None:
        agent = self.agents[host]
        if agent.silent or agent.gone:
            return
        head = self._heads.get(attributes)
        if head is None:
            head = self._heads[attributes] = _json(_attributes(attributes))
        shown = f"{value:.10g}" if math.isfinite(value) else f'"{_word(value)}"'
        push = self._pushes.setdefault((int(at // PUSH_SECONDS), host), {})
        push.setdefault(attempt, {}).setdefault(metric, []).append(
            f'{{"attributes":{head},{start}"timeUnixNano":"{self._nano(at + agent.clock_error)}",'
            f'"asDouble":{shown}}}'
        )

    def _line(self, host: str, push: dict[int | None, dict[str, list[str]]]) -> str:
        found = []
        for attempt, metrics in push.items():
            shown = []
            for name, points in metrics.items():
                row = vocabulary.catalogue()[name]
                body = f'{{"dataPoints":[{",".join(points)}]'
                if row.kind == "counter":
                    body = f'"sum":{body},"aggregationTemporality":2,"isMonotonic":true}}'
                else:
                    body = f'"gauge":{body}}}'
                shown.append(f'{{"name":"{name}","unit":"{row.unit}",{body}}}')
            scope = f'{{"scope":{{"name":"rankscope"}},"metrics":[{",".join(shown)}]}}'
            resource = self._resource(host, attempt)
            found.append(f'{{"resource":{resource},"scopeMetrics":[{scope}]}}')
        return f'{{"resourceMetrics":[{",".join(found)}]}}'

    def _resource(self, host: str, attempt: int | None) -> str:
        named = {"service.name": "rankscope-agent", "host.name": host, **self.resources[host]}
        if attempt is not None:
            named |= {"rankscope.job.id": self.job, "rankscope.job.attempt": attempt}
        return _json({"attributes": _attributes(tuple(named.items()))})

    def _nano(self, at: float) -> str:
        return str(round((self.epoch + at) * 1e6) * 1000)


def _attributes(named: PointAttributes) -> list[dict[str, object]]:
    return [{"key": key, "value": _value(value)} for key, value in named]


def _value(value: PointScalar) -> dict[str, object]:
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value if math.isfinite(value) else _word(value)}
    return {"stringValue": value}


def _word(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
