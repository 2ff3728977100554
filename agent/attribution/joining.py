"""Joining what the sources report into holders and ranks: a pure function of facts."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..trainers import Key, TrainerProcess
from . import device_ids
from .device_ids import DeviceIdentity
from .pod_resources import AllocatedDevice


@dataclass(frozen=True, slots=True)
class DeviceHolder:
    """Who holds a device, or a part or a time-slice of it; "" and None where it is not known.

    `partition` names the part (MIG: "1g.10gb/7"), `replica` the time-slice.
    """

    namespace: str = ""
    pod: str = ""
    pod_uid: str = ""
    container: str = ""
    slurm_job: str = ""
    job: str = ""
    rank: int | None = None
    partition: str = ""
    replica: str = ""


@dataclass(frozen=True, slots=True)
class DeviceProcess:
    """A process with memory on a device, in bytes."""

    hw_id: str
    pid: int
    memory: float


@dataclass(frozen=True, slots=True)
class ProcessOwner:
    """What a process belongs to: its pod by the kernel, its Slurm job by the kernel or itself."""

    pod_uid: str = ""
    slurm_job: str = ""


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What the agent itself observes: devices, processes on them, and where ranks report to be."""

    devices: Mapping[str, DeviceIdentity] = field(default_factory=dict)
    processes: Sequence[DeviceProcess] = ()
    claims: Mapping[Key, str] = field(default_factory=dict)
    trainers: Sequence[TrainerProcess] = ()


@dataclass(slots=True)
class _DeviceUse:
    """What processes and ranks on a device show of it."""

    pods: set[str] = field(default_factory=set)
    slurm: set[str] = field(default_factory=set)
    ranks: dict[tuple[str, int], ProcessOwner] = field(default_factory=dict)


def join(
    facts: NodeFacts,
    *,
    given: Sequence[AllocatedDevice],
    memberships: Mapping[int, ProcessOwner],
    names: Mapping[str, tuple[str, str]],
    jobs: Mapping[str, tuple[str, ...]],
) -> tuple[dict[str, tuple[DeviceHolder, ...]], dict[str, tuple[int, ...]]]:
    """Return holders and ranks by device (see Attribution.update for what goes in)."""
    held = _given(facts, given, names)
    placed = _places(facts, held, memberships)
    uses: dict[str, _DeviceUse] = defaultdict(_DeviceUse)
    for process in facts.processes:
        belongs = memberships.get(process.pid, ProcessOwner())
        uses[process.hw_id].pods |= {belongs.pod_uid} - {""}
        uses[process.hw_id].slurm |= {belongs.slurm_job} - {""}
    for trainer, hw_id in placed:
        belongs = memberships.get(trainer.pid or 0, ProcessOwner())
        uses[hw_id].ranks[trainer.job, trainer.rank] = belongs
    holders: dict[str, tuple[DeviceHolder, ...]] = {}
    for hw_id in sorted({*held, *uses, *facts.devices}):
        found = _holders(
            held.get(hw_id, []),
            uses.get(hw_id, _DeviceUse()),
            _written(facts.devices.get(hw_id), jobs),
        )
        if found:
            holders[hw_id] = tuple(found)
    ranks = {
        hw_id: tuple(sorted(rank for _, rank in use.ranks))
        for hw_id, use in uses.items()
        if use.ranks
    }
    return holders, ranks


def _given(
    facts: NodeFacts, given: Sequence[AllocatedDevice], names: Mapping[str, tuple[str, str]]
) -> dict[str, list[DeviceHolder]]:
    """Return the kubelet's word by device; a part's holder holds its device too."""
    uids = {name: uid for uid, name in names.items()}
    known = list(facts.devices.values())
    held: dict[str, list[DeviceHolder]] = defaultdict(list)
    for one in given:
        meant = device_ids.meant(one.device, one.cdi)
        hw_id, partition = device_ids.resolve(meant, known, maker=device_ids.vendor(one.resource))
        if not hw_id:
            continue
        holder = DeviceHolder(
            namespace=one.namespace,
            pod=one.pod,
            pod_uid=uids.get((one.namespace, one.pod), ""),
            container=one.container,
            partition=partition,
            replica=meant.replica,
        )
        described = facts.devices.get(hw_id)
        for place in {hw_id, described.parent if described else ""} - {""}:
            if holder not in held[place]:
                held[place].append(holder)
    return held


def _places(
    facts: NodeFacts,
    held: Mapping[str, Sequence[DeviceHolder]],
    memberships: Mapping[int, ProcessOwner],
) -> list[tuple[TrainerProcess, str]]:
    """Return each rank's device.

    Of those its process has memory on, the one it names or the fullest; where the driver names no
    device for it, the one it names itself, unless another pod holds that.
    """
    memory: dict[int, dict[str, float]] = defaultdict(dict)
    for process in facts.processes:
        memory[process.pid][process.hw_id] = process.memory
    placed: list[tuple[TrainerProcess, str]] = []
    for trainer in facts.trainers:
        claim = facts.claims.get(trainer.key, "")
        used = memory.get(trainer.pid or 0)
        if used:
            _, fullest = max((held_bytes, hw_id) for hw_id, held_bytes in used.items())
            placed.append((trainer, claim if claim in used else fullest))
        elif claim:
            uid = memberships.get(trainer.pid or 0, ProcessOwner()).pod_uid
            owners = {holder.pod_uid for holder in held.get(claim, ())} - {""}
            if not uid or not owners or uid in owners:
                placed.append((trainer, claim))
    return placed


def _written(device: DeviceIdentity | None, jobs: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the jobs a prolog wrote down for a device."""
    if device is None:
        return ()
    name = f"{device.index}.{device.instance}" if device.parent else str(device.index)
    return jobs.get(name, ())


def _holders(
    held: Sequence[DeviceHolder], use: _DeviceUse, written: Sequence[str]
) -> list[DeviceHolder]:
    slurm = tuple(written) or tuple(sorted(use.slurm))
    if not held:
        return _without_kubelet(use, slurm)
    found: list[DeviceHolder] = []
    for holder in held:
        # Held by one container alone: what runs there runs in its pod, whatever that is called.
        alone = len(held) == 1 and len(use.pods) == 1
        uid = holder.pod_uid or (next(iter(use.pods)) if alone else "")
        ranks = [
            who
            for who, belongs in use.ranks.items()
            if (belongs.pod_uid == uid if uid and belongs.pod_uid else len(held) == 1)
        ]
        job, rank = _one(ranks)
        found.append(
            replace(
                holder,
                pod_uid=uid,
                job=job,
                rank=rank,
                slurm_job=slurm[0] if len(slurm) == 1 else "",
            )
        )
    return found


def _without_kubelet(use: _DeviceUse, slurm: Sequence[str]) -> list[DeviceHolder]:
    """Return the holders that processes show: a Slurm job each, else a training job each."""
    if slurm:
        found: list[DeviceHolder] = []
        for name in slurm:
            ranks = [
                who
                for who, belongs in use.ranks.items()
                if belongs.slurm_job == name or len(slurm) == 1
            ]
            job, rank = _one(ranks)
            found.append(DeviceHolder(slurm_job=name, job=job, rank=rank))
        return found
    by_job: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for who in use.ranks:
        by_job[who[0]].append(who)
    uid = next(iter(use.pods)) if len(use.pods) == 1 else ""
    return [
        DeviceHolder(pod_uid=uid, job=job, rank=_one(ranks)[1])
        for job, ranks in sorted(by_job.items())
    ]


def _one(ranks: Sequence[tuple[str, int]]) -> tuple[str, int | None]:
    """Return job and rank where there is one of each."""
    jobs = {job for job, _ in ranks}
    return (
        next(iter(jobs)) if len(jobs) == 1 else "",
        ranks[0][1] if len(ranks) == 1 else None,
    )
