"""The register of holders: written by the main thread and a reader, read by the page.

`observe` and `receive` take facts as they come; `update` joins them into a snapshot, swapped at
once, so that readers of it never wait and never see half a change.
"""

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ...vocabulary.samples import Sample, Scalar
from ..devices import normal
from ..trainers import Key, TrainerProcess
from . import joining
from .device_ids import DeviceIdentity
from .joining import DeviceHolder, DeviceProcess, NodeFacts
from .pod_resources import AllocatedDevice

_DESCRIBING = frozenset({"hw.gpu.info", "hw.gpu.utilization", "hw.temperature", "hw.power"})
"""Metrics from which a device's index is learnt: a reader or an exporter sends one of them."""
_PROCESS = "hw.gpu.process.memory"
_RANK = "training.rank.info"
_BEHIND_SECONDS = 30.0
"""A process that the newest readings do not name any more is gone; devices are read in turn."""
_FORGET_SECONDS = 1000.0
"""Readings are three periods old at most, and a period may be five minutes. A device that is lost
still belongs to somebody meanwhile, and that is who wants to know."""


@dataclass(frozen=True, slots=True)
class _RegisterSnapshot:
    holders: Mapping[str, tuple[DeviceHolder, ...]] = field(default_factory=dict)
    ranks: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    devices: Mapping[str, DeviceIdentity] = field(default_factory=dict)
    pods: Mapping[int, str] = field(default_factory=dict)
    version: int = 0


class DeviceAttribution:
    """Who holds what; for every thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._devices: dict[str, tuple[DeviceIdentity, float]] = {}
        self._processes: dict[tuple[str, int], tuple[float, float]] = {}  # bytes, at
        self._claims: dict[Key, str] = {}
        self._snapshot = _RegisterSnapshot()

    @property
    def version(self) -> int:
        """Return a number that changes when any answer below does."""
        return self._snapshot.version

    @property
    def placed(self) -> bool:
        """Return whether any rank is placed on any device."""
        return bool(self._snapshot.ranks)

    def holders(self, hw_id: str) -> Sequence[DeviceHolder]:
        """Return who holds a device, none when nobody is known to; a shared one has several."""
        return self._snapshot.holders.get(hw_id, ())

    def ranks(self, hw_id: str) -> Sequence[int]:
        """Return the ranks placed on a device, of all jobs, in order; one a job and rank."""
        return self._snapshot.ranks.get(hw_id, ())

    def rank_of(self, hw_id: str) -> int | None:
        """Return the rank placed on a device when it is exactly one."""
        ranks = self._snapshot.ranks.get(hw_id, ())
        return ranks[0] if len(ranks) == 1 else None

    def pod_of(self, pid: int) -> str:
        """Return the uid of the pod a process on a device is in, "" when it is in none."""
        return self._snapshot.pods.get(pid, "")

    def devices(self) -> Mapping[str, DeviceIdentity]:
        """Return every device seen in the last quarter of an hour or so, by id."""
        return self._snapshot.devices

    def held(self) -> Mapping[str, tuple[DeviceHolder, ...]]:
        """Return all holders by device."""
        return self._snapshot.holders

    def observe(self, samples: Iterable[Sample]) -> None:
        """Learn from a reading which devices there are and which processes they serve."""
        for sample in samples:
            if sample.metric == _PROCESS:
                pairs = dict(sample.attributes)
                hw_id, pid = pairs.get("hw.id"), pairs.get("pid")
                if isinstance(hw_id, str) and isinstance(pid, int):
                    with self._lock:
                        self._processes[hw_id, pid] = (sample.value, sample.at)
            elif sample.metric in _DESCRIBING:
                self._describe(sample)

    def receive(self, trainer: TrainerProcess, samples: Iterable[Sample]) -> None:
        """Note on which device a rank reports to be."""
        for sample in samples:
            if sample.metric == _RANK:
                hw_id = next((value for name, value in sample.attributes if name == "hw.id"), None)
                if isinstance(hw_id, str):
                    with self._lock:
                        self._claims[trainer.key] = hw_id

    def facts(self, trainers: Sequence[TrainerProcess], now: float) -> NodeFacts:
        """Return what is known now, without what nobody has named for long."""
        with self._lock:
            lost = now - _FORGET_SECONDS
            newest = max((at for _, at in self._processes.values()), default=now)
            since = max(lost, newest - _BEHIND_SECONDS)
            for key in [key for key, (_, at) in self._processes.items() if at < since]:
                del self._processes[key]
            for hw_id in [one for one, (_, at) in self._devices.items() if at < lost]:
                del self._devices[hw_id]
            alive = {trainer.key for trainer in trainers}
            for claimant in [key for key in self._claims if key not in alive]:
                del self._claims[claimant]
            return NodeFacts(
                devices={hw_id: known for hw_id, (known, _) in self._devices.items()},
                processes=[
                    DeviceProcess(hw_id, pid, memory)
                    for (hw_id, pid), (memory, _) in sorted(self._processes.items())
                ],
                claims=dict(self._claims),
                trainers=list(trainers),
            )

    def update(
        self,
        facts: NodeFacts,
        *,
        given: Sequence[AllocatedDevice],
        memberships: Mapping[int, joining.ProcessOwner],
        names: Mapping[str, tuple[str, str]],
        jobs: Mapping[str, tuple[str, ...]],
    ) -> None:
        """Join what is known and answer by it from now on.

        `given` is the kubelet's list, `memberships` what each process belongs to, `names` the
        (namespace, pod) of pods by uid, `jobs` the jobs by device as a prolog wrote them.
        """
        holders, ranks = joining.join(
            facts, given=given, memberships=memberships, names=names, jobs=jobs
        )
        pods = {pid: one.pod_uid for pid, one in memberships.items() if one.pod_uid}
        before = self._snapshot
        same = (holders, ranks, facts.devices, pods) == (
            before.holders,
            before.ranks,
            before.devices,
            before.pods,
        )
        if not same:
            self._snapshot = _RegisterSnapshot(
                holders, ranks, facts.devices, pods, before.version + 1
            )

    def _describe(self, sample: Sample) -> None:
        pairs: dict[str, Scalar] = dict(sample.attributes)
        hw_id, index = pairs.get("hw.id"), pairs.get("gpu")
        if not isinstance(hw_id, str) or not isinstance(index, int):
            return
        with self._lock:
            known = self._devices.get(hw_id)
            if sample.metric == "hw.gpu.info" or known is None:
                minor = pairs.get("hw.minor")
                described = DeviceIdentity(
                    hw_id=hw_id,
                    index=index,
                    vendor=str(pairs.get("hw.vendor", "nvidia")),
                    pci=normal(str(pairs["pci.bus_id"])) if "pci.bus_id" in pairs else "",
                    parent=str(pairs.get("hw.parent", "")),
                    partition=str(pairs.get("partition", "")),
                    minor=minor if isinstance(minor, int) else None,
                )
            else:
                described = known[0]
            self._devices[hw_id] = (described, sample.at)
