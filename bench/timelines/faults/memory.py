"""Faults of memory, on devices and hosts."""

from ..recording import PointScalar
from .scene import FaultScene, let_leak, set_later


def leaking_device(scene: FaultScene) -> None:
    scene.at_rank()
    rate = 0.4 * scene.device.model.memory / 420.0 * scene.amount(1.0, 0.5)
    scene.at(lambda: let_leak(scene, leak_device=rate))


def device_full(scene: FaultScene) -> None:
    scene.at_rank()
    scene.at(lambda: let_leak(scene, leak_device=scene.device.model.memory / 40.0))
    text = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB."
    scene.at(lambda: scene.crash("gpu.out_of_memory", text, 1, 0), 22.0)


def fragmentation(scene: FaultScene) -> None:
    scene.at_rank()

    def split() -> None:
        one = scene.process()
        one.fragmented = min(0.5, one.fragmented + scene.amount(0.03, 0.015))
        one.retries += 2
        one.extra_host = scene.amount(0.1, 0.03) * scene.cluster.plan.compute

    scene.every(10.0, split)


def contexts(scene: FaultScene) -> None:
    scene.rank = 0
    scene.at_gpu()
    scene.onset = 5.0

    def start() -> None:
        peers = scene.cluster.ranks[1 : scene.cluster.plan.per_host]
        scene.device.foreign_memory = {one.pid: 0.55e9 for one in peers}

    scene.at(start)


def leaking_trainer(scene: FaultScene) -> None:
    scene.at_process(0)

    def leak() -> None:
        let_leak(scene, leak_private=scene.amount(90e6, 30e6))
        scene.at_process(scene.process().pid)

    scene.at(leak)


def leaking_loader(scene: FaultScene) -> None:
    scene.at_process(0)

    def leak() -> None:
        let_leak(scene, leak_loader=scene.amount(50e6, 15e6))
        scene.at_process(scene.process().loader_pids[0])

    scene.at(leak)


def host_memory(scene: FaultScene) -> None:
    scene.at_host()

    def grow() -> None:
        scene.host.used = min(scene.host.memory, scene.host.used + 0.02 * scene.host.memory)

    def kill() -> None:
        one = scene.process()
        named: dict[str, PointScalar] = {"pid": one.pid, "rank": one.rank, "cgroup": "/pod7"}
        scene.cluster.event(scene.host, "host.oom_kill", named)
        scene.crash("", "", 137, 9)

    scene.every(2.0, grow)
    scene.at(kill, 104.0)


def shared_memory(scene: FaultScene) -> None:
    scene.at_host()
    set_later(scene, scene.host, shm=0.999)
    text = "DataLoader worker (pid 4711) is killed by signal: Bus error. It is possible that "
    text += "dataloader's workers are out of shared memory."
    scene.at(lambda: scene.crash("dataloader.shared_memory", text, 135, 7), 12.0)
