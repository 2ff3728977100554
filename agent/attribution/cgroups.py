"""Which pod, container or Slurm job a process belongs to, by the cgroup the kernel keeps it in.

A process can set its environment and its name; it cannot leave the cgroup that kubelet or Slurm
put it in. It may make cgroups below its own and name them as it likes: the outermost name counts.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from .. import procfs

_UID = r"[0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32}"
_POD = re.compile(rf"(?:.*-)?pod({_UID})(?:\.slice)?")
"""The uid of a pod by the drivers systemd (in a slice's name, "_" for "-") and cgroupfs; static
pods have a hash instead."""
_CONTAINER = re.compile(r"(?:[a-z-]+-)?([0-9a-f]{64})(?:\.scope)?")
_SEPARATOR = re.compile(r"[/:]")
_SLURM = (
    re.compile(r"/slurm(?:_[^/]+)?/uid_\d+/job_(\d+)"),  # cgroup v1
    re.compile(r"/(?:[^/]+_)?slurmstepd\.scope/job_(\d+)"),  # v2
)


@dataclass(frozen=True, slots=True)
class CgroupMembership:
    """What a cgroup shows of a process; "" where it shows nothing."""

    pod_uid: str = ""
    container: str = ""
    slurm_job: str = ""


def parse(text: str) -> CgroupMembership:
    """Read /proc/PID/cgroup, of cgroup v1 (a line a controller), v2 (one line) or both."""
    pod = container = job = ""
    for line in text.splitlines():
        path = line.partition(":")[2].partition(":")[2]
        if not pod:
            pod, container = _pod(path)
        if not job:
            found = next((one for form in _SLURM if (one := form.search(path))), None)
            job = found[1] if found else ""
    return CgroupMembership(pod, container, job)


def of(pid: int, proc: Path = procfs.PROC) -> CgroupMembership | None:
    """Return what a process belongs to, None when it is gone or not ours to see."""
    text = procfs.read(f"{proc}/{pid}/cgroup")
    return None if text is None else parse(text)


def _pod(path: str) -> tuple[str, str]:
    """Return the uid of the pod and the id of the container, "" when there is none.

    A pod counts below kubelet's own cgroup only; seen from within a cgroup namespace that is where
    a path leads out of ours ("/../..").
    """
    below = path.startswith("/../")
    segments = iter(_SEPARATOR.split(path))
    for segment in segments:
        below = below or "kubepods" in segment
        if below and (found := _POD.fullmatch(segment)):
            inner = (one for rest in segments if (one := _CONTAINER.fullmatch(rest)))
            container = next(inner, None)
            return found[1].replace("_", "-"), container[1] if container else ""
    return "", ""
