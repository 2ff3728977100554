"""Who holds which accelerator: pods, containers, Slurm jobs, training jobs and ranks.

Four witnesses are joined, each for what it can really know:

- the kubelet: which container was given which device (kubelet.py);
- the driver: which processes have memory on a device (samples of `hw.gpu.process.memory`);
- the kernel: which pod or Slurm job a process is in (cgroups.py);
- the probes: which process is which rank (the register of trainers, by the peer's credentials).

What a process merely claims (`hw.id` in `training.rank.info`, SLURM_JOB_ID in its environment)
fills a gap and never contradicts the four.

In: the kubelet's answers, cgroups, device memory of processes, trainers. Out: who holds which
device: attributes of samples. Imports: formats, vocabulary; devices, procfs, trainers.
"""

from .joining import DeviceHolder
from .register import DeviceAttribution

__all__ = ["DeviceAttribution", "DeviceHolder"]
