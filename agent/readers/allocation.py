"""Who holds which accelerator, as an info series a holder: `hw.gpu.allocation`.

It also keeps the agent's `DeviceAttribution` up to date, from which samples get their rank and the
page its pods.
"""

import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...formats.wire import WireError
from ...vocabulary.samples import Sample, attributes
from .. import procfs
from ..attribution import DeviceAttribution, DeviceHolder, cgroups, kubelet, pod_resources, slurm
from ..attribution.joining import NodeFacts, ProcessOwner
from ..health import AgentHealth
from ..trainers import TrainerProcess

if TYPE_CHECKING:
    from ..settings import AttributionSettings

SOURCE = "kubelet"
_TIMEOUT_SECONDS = 0.25
"""How long a reading waits for a kubelet that answers; a slower answer counts at the next."""
_KEEP_SECONDS = 60.0
"""A kubelet that restarts is away for less; its pods go on meanwhile."""
_ANOTHER_SOCKET = "DCGM_POD_RESOURCES_KUBELET_SOCKET"

_log = logging.getLogger(__name__)


class AllocationReader:
    """Asks the kubelet on a thread of its own, the kernel and Slurm here."""

    name = "allocation"

    def __init__(
        self,
        *,
        period: float,
        settings: "AttributionSettings",
        attribution: DeviceAttribution,
        trainers: Callable[[], Sequence[TrainerProcess]],
        health: AgentHealth,
        proc: Path = procfs.PROC,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self.period = period
        self._settings = settings
        self._attribution = attribution
        self._trainers = trainers
        self._health = health
        self._proc = proc
        named = settings.kubelet_socket or environ.get(_ANOTHER_SOCKET)
        self._socket = Path(named or kubelet.SOCKET)
        self._expected = bool(named) or "KUBERNETES_SERVICE_HOST" in environ
        self._call = _KubeletCall(self._socket, settings)
        self._up: bool | None = None
        self._claimed: dict[int, tuple[int, str]] = {}

    def supported(self) -> tuple[bool, str]:
        """Return true: ranks are placed without a kubelet too. The reason is what is missing."""
        if self._asked():
            try:
                kubelet.ask(self._socket, deadline_seconds=1.0)
            except kubelet.KubeletError as error:
                return True, f"no pods on devices: {error}"
            return True, ""
        return True, "no kubelet here: devices are matched with Slurm jobs and ranks only"

    def read(self, now: float) -> list[Sample]:
        """Return one series a holder, and leave all that is known with the attribution."""
        if self._asked():
            self._call.begin(now)
            self._show()
        facts = self._attribution.facts(self._trainers(), now)
        self._attribution.update(
            facts,
            given=self._call.given(now),
            memberships=self._memberships(facts),
            names=self._pod_names(),
            jobs=self._jobs(),
        )
        return [
            sample
            for hw_id, holders in self._attribution.held().items()
            if hw_id in facts.devices
            for sample in self._samples(hw_id, holders, facts, now)
        ]

    def _samples(
        self, hw_id: str, holders: Sequence[DeviceHolder], facts: NodeFacts, now: float
    ) -> list[Sample]:
        device = facts.devices[hw_id]
        series = {
            attributes(
                {
                    "hw.id": hw_id,
                    "gpu": device.index,
                    "hw.vendor": device.vendor,
                    "rank": holder.rank,
                    "k8s.namespace.name": holder.namespace or None,
                    "k8s.pod.name": holder.pod or None,
                    "k8s.pod.uid": holder.pod_uid or None,
                    "k8s.container.name": holder.container or None,
                    "slurm.job.id": holder.slurm_job or None,
                    "partition": holder.partition or None,
                }
            )
            for holder in holders
        }
        return [Sample("hw.gpu.allocation", 1.0, now, pairs) for pairs in sorted(series, key=str)]

    def _asked(self) -> bool:
        """Return whether a kubelet is to be expected: it was named, or this node has or had one."""
        self._expected = self._expected or self._socket.exists()
        return self._expected

    def _show(self) -> None:
        error = self._call.error
        up = error is None
        self._health.show("source_up", float(up), SOURCE)
        if error is not None:
            self._health.count("reader_failures", self.name, f"{SOURCE}_{error.reason}")
        if up != self._up:
            if error is not None:
                _log.warning("the kubelet does not report which pod holds which device: %s", error)
            elif self._up is False:
                _log.warning("the kubelet answers again")
        self._up = up

    def _memberships(self, facts: NodeFacts) -> dict[int, ProcessOwner]:
        """Return what each process on a device and each trainer belongs to.

        A cgroup is read every time, a launcher moves processes; an environment is read once.
        """
        pids = {process.pid for process in facts.processes}
        pids |= {trainer.pid for trainer in facts.trainers if trainer.pid is not None}
        found: dict[int, ProcessOwner] = {}
        claimed: dict[int, tuple[int, str]] = {}
        for pid in pids:
            member = cgroups.of(pid, self._proc)
            started = procfs.start_ticks(pid, self._proc)
            if member is None or started is None:
                continue
            job = member.slurm_job
            if not job and not member.pod_uid:
                known = self._claimed.get(pid)
                if known is None or known[0] != started:  # a pid that was taken over
                    known = (started, slurm.job_of(pid, self._proc))
                claimed[pid] = known
                job = known[1]
            found[pid] = ProcessOwner(member.pod_uid, job)
        self._claimed = claimed
        return found

    def _pod_names(self) -> dict[str, tuple[str, str]]:
        """Return (namespace, pod) by uid, from the folders kubelet keeps a pod's logs in."""
        folder = self._settings.pod_logs_folder
        parts = (name.split("_") for name in (procfs.names(str(folder)) if folder else ()))
        return {part[2]: (part[0], part[1]) for part in parts if len(part) == 3}

    def _jobs(self) -> Mapping[str, tuple[str, ...]]:
        folder = self._settings.hpc_job_folder
        if folder is None:
            return {}
        try:
            return slurm.job_files(folder)
        except OSError as error:
            self._health.count("reader_failures", self.name, "hpc_job_folder")
            _log.debug("attribution.hpc_job_folder %s: %s", folder, error)
            return {}


class _KubeletCall:
    """One call to the kubelet at a time, each on a thread that nobody waits for long."""

    def __init__(self, path: Path, settings: "AttributionSettings") -> None:
        self._path = path
        self._settings = settings
        self._thread: threading.Thread | None = None
        self._answer: list[pod_resources.AllocatedDevice] = []
        self._data = b""
        self._answered_at = float("-inf")
        self._answered_once = False
        self.error: kubelet.KubeletError | None = None

    def begin(self, now: float) -> None:
        """Ask, unless the last call still waits, and give a healthy kubelet time to answer."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(
                target=self._ask, args=(now,), name="kubelet", daemon=True
            )
            self._thread.start()
        self._thread.join(_TIMEOUT_SECONDS)
        if self._thread.is_alive() and not self._answered_once:
            self.error = kubelet.KubeletError("waiting", f"{self._path} has not answered yet")

    def given(self, now: float) -> Sequence[pod_resources.AllocatedDevice]:
        """Return the last answer; nothing once it is too old to be true."""
        return self._answer if now - self._answered_at <= _KEEP_SECONDS else ()

    def _ask(self, now: float) -> None:
        settings = self._settings
        try:
            data = kubelet.ask(
                self._path,
                deadline_seconds=settings.timeout_seconds,
                max_bytes=settings.max_bytes,
            )
            # As a rule nothing changed, and reading 500 pods costs five times as much as asking.
            answer = (
                self._answer
                if data == self._data
                else pod_resources.decode(
                    data, resources=settings.resources, drivers=settings.drivers
                )
            )
        except kubelet.KubeletError as error:
            self.error = error
        except WireError as error:
            self.error = kubelet.KubeletError("protocol", f"the list makes no sense: {error}")
        else:
            self._answer, self._answered_at, self._answered_once = answer, now, True
            self._data, self.error = data, None
