"""Faults of devices."""

from .scene import FaultScene, count, set_later


def slow_device(scene: FaultScene) -> None:
    scene.at_gpu()
    set_later(scene, scene.device, slow=scene.amount(1.5, 1.12))


def locked_clock(scene: FaultScene) -> None:
    scene.at_gpu()
    set_later(scene, scene.device, lock=1.0 / scene.amount(1.6, 1.2))


def hot_device(scene: FaultScene) -> None:
    scene.at_gpu()

    def block() -> None:
        device = scene.device
        mean = device.joules / scene.cluster.loop.now
        device.resistance = (device.model.hot + scene.amount(40.0, 14.0) - device.ambient) / mean

    scene.at(block)


def capped_host(scene: FaultScene) -> None:
    scene.at_host()

    def cap() -> None:
        for device in scene.host.devices:
            mean = device.joules / scene.cluster.loop.now
            device.cap = round(mean / scene.amount(1.6, 1.15))

    scene.at(cap)


def narrow_bus(scene: FaultScene) -> None:
    scene.at_gpu()

    def narrow() -> None:
        scene.device.pcie_width = 8 if scene.weak else 4
        scene.process().extra_data = scene.amount(0.4, 0.12) * scene.cluster.plan.compute

    scene.at(narrow)
    scene.every(7.0, lambda: count(scene.device.counts, "replays", 3))


def bad_nvlink(scene: FaultScene) -> None:
    scene.at_gpu()
    set_later(scene, scene.device, nvlink_slow=scene.amount(20.0, 6.0))
    if not scene.weak:
        scene.at(lambda: scene.xid(74, "NVLink: fatal error detected on link 3"))
    scene.every(1.0, lambda: count(scene.device.counts, "nvlink", scene.amount(40.0, 8.0)))


def lost_device(scene: FaultScene) -> None:
    scene.at_gpu()
    set_later(scene, scene.device, lost=True)
    scene.at(lambda: setattr(scene.process(), "stuck", True))
    scene.at(lambda: scene.xid(79, "GPU has fallen off the bus."))


def uncorrectable(scene: FaultScene) -> None:
    scene.at_gpu()
    text = "CUDA error: uncorrectable ECC error encountered"

    def strike() -> None:
        count(scene.device.counts, "uncorrected", 1)
        scene.xid(48, "DBE (double bit error) ECC")
        scene.xid(94, "Contained: CE User Channel")
        scene.crash("cuda.ecc", text, 1, 6)

    scene.at(strike)


def remapped_row(scene: FaultScene) -> None:
    scene.at_gpu()
    set_later(scene, scene.device, remap="pending" if scene.weak else "failed")
    scene.at(lambda: scene.xid(63 if scene.weak else 64, "Row remapper: row remap event"))


def hung_firmware(scene: FaultScene) -> None:
    scene.at_gpu()
    scene.at(lambda: setattr(scene.process(), "stuck", True))
    scene.at(lambda: scene.xid(119, "Timeout after 6s of waiting for RPC response from GPU GSP"), 6)


def foreign_process(scene: FaultScene) -> None:
    scene.at_gpu()
    memory = {990_000 + scene.rng.randrange(9_000): 6.0e9}
    set_later(scene, scene.device, foreign=scene.amount(0.4, 0.14), foreign_memory=memory)
