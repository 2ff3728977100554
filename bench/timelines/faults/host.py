"""Faults of hosts."""

from .scene import FaultScene, set_later


def busy_host(scene: FaultScene) -> None:
    scene.at_host()
    host = scene.host
    if scene.rng.random() < 0.4:
        scene.at(lambda: setattr(host, "quota", host.own_demand() / scene.amount(2.2, 1.5)))
    else:
        scene.at(lambda: setattr(host, "demand", host.demand + host.cores * scene.amount(2.0, 1.3)))


def lost_host(scene: FaultScene) -> None:
    scene.at_host()

    def lose() -> None:
        for one in scene.cluster.living(scene.host):
            one.stuck = True
        scene.host.lost = scene.cluster.recorder.agents[scene.host.name].gone = True

    scene.at(lose)


def evicted(scene: FaultScene) -> None:
    scene.at_host()

    def evict() -> None:
        text = "The node was low on resource: ephemeral-storage."
        scene.cluster.event(scene.host, "scheduler.event", {"reason": "Evicted", "text": text})
        for one in scene.cluster.living(scene.host):
            one.end(143, 15)
        scene.crash("", "", 143, 15)

    scene.at(evict)


def slow_storage(scene: FaultScene) -> None:
    scene.at_job()
    scene.entity = {"type": "storage", "id": "/data", "host": None}
    scene.also = [["job", scene.cluster.recorder.job]]
    for host in scene.cluster.hosts:
        set_later(scene, host, storage_slow=scene.amount(12.0, 6.0), blocked=12)


def full_disk(scene: FaultScene) -> None:
    scene.at_host()
    host = scene.host
    scene.every(2.0, lambda: setattr(host, "disk_full", min(1.0, host.disk_full + 0.02)))
    text = "OSError: [Errno 28] No space left on device: '/ckpt/step.pt'"
    scene.at(lambda: scene.crash("storage.no_space", text, 1, 0), 80.0)


def skewed_clock(scene: FaultScene) -> None:
    scene.at_host()
    error = scene.amount(4.0, 0.6)

    def skew() -> None:
        scene.host.clock_error = error
        scene.cluster.recorder.agents[scene.host.name].clock_error = error

    scene.at(skew)


def drifted(scene: FaultScene) -> None:
    scene.at_host()
    scene.onset = 5.0
    scene.host.driver = "535.161.08"
    for device in scene.host.devices:
        device.slow = scene.amount(1.3, 1.12)


def hung_driver(scene: FaultScene) -> None:
    scene.at_host()

    def hang() -> None:
        for one in scene.cluster.living(scene.host):
            one.stuck = one.device.lost = True
        scene.host.blocked = 9

    scene.at(hang)
