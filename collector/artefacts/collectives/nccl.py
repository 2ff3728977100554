"""What NCCL's Inspector wrote as telemetry: the operations that ended."""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from ....formats.nccl import inspector
from ....formats.nccl.figures import figures, grouped
from ....formats.nccl.inspector import InspectorOperation
from ....vocabulary.groups import ProcessGroup, world
from ....vocabulary.samples import Sample, Scalar, TelemetryResource, attributes
from ..found import ArtefactContents

_INTERVAL_SECONDS = 5.0
_MOST_OPERATIONS = 200_000
"""Operations of one folder that are kept one by one; the figures of each interval count all."""


def read_inspector(
    files: Mapping[str, Path], resource: TelemetryResource, found: ArtefactContents
) -> None:
    """Add the durations of operations that ended, by rank of the largest communicator."""
    operations: list[InspectorOperation] = []
    for name, path in files.items():
        missed = kept = 0
        with path.open("rb") as opened:
            for operation in inspector.read(opened):
                if operation is None:
                    missed += 1
                else:
                    kept += 1
                    operations.append(operation)
        found.read[name] = f"NCCL Inspector, {kept} operations, {missed} lines not read"
    if not operations:
        return
    size = max(operation.ranks for operation in operations)
    global_rank = {(one.host, one.pid): one.rank for one in operations if one.ranks == size}
    found.world_size = max(found.world_size, size)
    members: dict[str, set[int]] = defaultdict(set)
    placed = [
        (global_rank[one.host, one.pid], one)
        for one in operations
        if (one.host, one.pid) in global_rank and not one.p2p
    ]
    for rank, one in placed:
        members[one.communicator].add(rank)
    groups = {
        name: world(size) if len(ranks) == size else ProcessGroup(name, tuple(sorted(ranks)))
        for name, ranks in members.items()
    }
    for group in groups.values():
        found.samples.append((resource, group.info(operations[0].at)))
    _one_by_one(placed[:_MOST_OPERATIONS], groups, resource, found)
    _by_interval(placed, groups, resource, found)
    newest = max(one.at for one in operations)
    found.until = max(found.until or newest, newest)


def _one_by_one(
    placed: list[tuple[int, InspectorOperation]],
    groups: Mapping[str, ProcessGroup],
    resource: TelemetryResource,
    found: ArtefactContents,
) -> None:
    for rank, one in placed:
        labels: dict[str, Scalar] = {
            "rank": rank, "group": groups[one.communicator].name, "op": one.op,
            "seq": one.sequence, "clock": one.clock, "source": "inspector",
        }  # fmt: skip
        sample = Sample("collective.op.duration", one.seconds, one.at, attributes(labels))
        found.samples.append((TelemetryResource(one.host, resource.job, resource.attempt), sample))


def _by_interval(
    placed: list[tuple[int, InspectorOperation]],
    groups: Mapping[str, ProcessGroup],
    resource: TelemetryResource,
    found: ArtefactContents,
) -> None:
    of_interval = [((rank, int(one.at / _INTERVAL_SECONDS)), one) for rank, one in placed]
    for ((rank, interval), communicator, op), ended in grouped(of_interval).items():
        labels = attributes(
            {"rank": rank, "group": groups[communicator].name, "op": op, "source": "inspector"}
        )
        own = TelemetryResource(ended[0].host, resource.job, resource.attempt)
        at = (interval + 1) * _INTERVAL_SECONDS
        found.samples += [
            (own, Sample(name, value, at, labels)) for name, value in figures(ended).items()
        ]
