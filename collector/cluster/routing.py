"""Which partitions a payload belongs to, and what of it belongs to each.

Telemetry of a job goes to the job's partition. Telemetry of a host goes to the partitions of the
jobs that are known to run there, so that it joins their ranks; with no job there, to the host's
own. What names neither goes to all if it is an event, since it may concern any job.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from ...formats.otlp import splitting as otlp
from ...formats.remote_write import splitting as series
from ...vocabulary.samples import TelemetryResource
from ..journal.kinds import PayloadKind
from . import names

_JSON = {PayloadKind.METRICS_JSON: "resourceMetrics", PayloadKind.LOGS_JSON: "resourceLogs"}
_EVENTS = frozenset((PayloadKind.LOGS_PROTOBUF, PayloadKind.LOGS_JSON))


class JobPartitions(Protocol):
    """The partitions of the jobs that run on each host."""

    def partitions(self, host: str) -> frozenset[int]:
        """Return the partitions of the jobs on a host; empty where none is known."""
        ...

    def learn(self, host: str, partition: int) -> None:
        """Note that a job of a partition runs on a host."""
        ...


class PayloadRouter:
    """Divides payloads among partitions; for one thread."""

    def __init__(self, partitions: int, hosts: JobPartitions) -> None:
        self._partitions = partitions
        self._hosts = hosts
        self._otlp = otlp.RequestSplitter()
        self._series = series.WriteSplitter()
        self._everywhere = frozenset(range(partitions))

    def split(self, kind: PayloadKind, body: bytes) -> Mapping[int, bytes]:
        """Return what of a payload goes to which partition. Raises UndecodableError."""
        if self._partitions == 1:
            return {0: body}
        match kind:
            case PayloadKind.METRICS_PROTOBUF | PayloadKind.LOGS_PROTOBUF:
                return self._divided(kind, body, self._otlp.protobuf(body), b"".join)
            case PayloadKind.METRICS_JSON | PayloadKind.LOGS_JSON:
                key = _JSON[kind]
                parts = otlp.of_json(body, key)
                return self._divided(kind, body, parts, lambda rows: otlp.joined_json(rows, key))
            case PayloadKind.REMOTE_WRITE:
                return self._series.version1(body, self._of_metrics)
            case PayloadKind.REMOTE_WRITE_2:
                return self._series.version2(body, self._of_metrics)
            case _:
                raise AssertionError(f"{kind} is not divided")

    def _divided(
        self,
        kind: PayloadKind,
        body: bytes,
        parts: Sequence[otlp.Part],
        joined: Callable[[Sequence[bytes]], bytes],
    ) -> Mapping[int, bytes]:
        # Jobs first: a host that reports with its job is known before its own telemetry is routed.
        for resource, _ in parts:
            self._learn(resource)
        targets = [self._targets(resource, events=kind in _EVENTS) for resource, _ in parts]
        if targets and all(one == targets[0] for one in targets):
            return dict.fromkeys(sorted(targets[0]), body)
        found: dict[int, list[bytes]] = {}
        for (_, part), where in zip(parts, targets, strict=True):
            for partition in where:
                found.setdefault(partition, []).append(part)
        return {partition: joined(found[partition]) for partition in sorted(found)}

    def _of_metrics(self, resource: TelemetryResource) -> frozenset[int]:
        self._learn(resource)
        return self._targets(resource, events=False)

    def _learn(self, resource: TelemetryResource) -> None:
        if resource.job is not None and resource.host:
            self._hosts.learn(resource.host, names.of_job(resource.job, self._partitions))

    def _targets(self, resource: TelemetryResource, *, events: bool) -> frozenset[int]:
        if resource.job is not None:
            return frozenset((names.of_job(resource.job, self._partitions),))
        if resource.host:
            of_jobs = self._hosts.partitions(resource.host)
            return of_jobs or frozenset((names.of_host(resource.host, self._partitions),))
        if events:
            return self._everywhere
        return frozenset((names.of_host("", self._partitions),))
