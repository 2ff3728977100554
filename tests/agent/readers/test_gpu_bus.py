"""The PCI bus answers when the driver does not."""

import pytest

from bench.node import trees
from rankscope.agent.devices import DeviceRegister, KnownDevice
from rankscope.agent.readers.gpu_bus import GpuBus
from rankscope.lab.node.nvml import bus_address


@pytest.fixture
def node(tmp_path):
    return trees.build(tmp_path, gpus=4)


@pytest.fixture
def events():
    return []


@pytest.fixture
def make_bus(node, events):
    def make(*, driver_answers=True):
        devices = DeviceRegister()
        for gpu in range(4):
            devices.note(KnownDevice(f"GPU-{gpu}", gpu, bus_address(gpu)))
        return GpuBus(
            devices=devices,
            emit=events.append,
            answering=lambda now: {f"GPU-{gpu}": driver_answers for gpu in range(4)},
            sys=node.files.sys,
        )

    return make


def counted(samples):
    return next(sample.value for sample in samples if sample.metric == "hw.gpu.count")


def test_the_devices_on_the_bus_are_counted_and_nothing_is_told(make_bus, events):
    bus = make_bus()
    assert bus.supported() == (True, "4 on the bus")
    assert [counted(bus.read(float(turn))) for turn in range(3)] == [4, 4, 4]
    assert events == []


@pytest.mark.parametrize("misfortune", ["silence", "unplug"])
def test_a_device_that_fell_off_the_bus_is_told_once_and_no_other(
    make_bus, node, events, misfortune
):
    bus = make_bus()
    bus.read(1.0)
    getattr(node.pci, misfortune)(bus_address(2))
    counts = [counted(bus.read(2.0 + turn)) for turn in range(4)]
    assert counts == [3, 3, 3, 3]
    assert [(one.attributes["hw.id"], one.attributes["code"]) for one in events] == [
        ("GPU-2", "pci.gone")
    ]
    assert events[0].at == 2.0  # when it went, not when that was certain two turns later


def test_links_are_read_from_the_bus_only_while_the_driver_says_nothing(make_bus, node):
    assert len(make_bus().read(1.0)) == 1
    node.pci.train(bus_address(1), width=8, generation=3)
    samples = make_bus(driver_answers=False).read(1.0)
    told = {(sample.metric, dict(sample.attributes).get("gpu")): sample.value for sample in samples}
    assert told["hw.gpu.pcie.width", 1] == 8
    assert told["hw.gpu.pcie.generation", 1] == 3
    assert told["hw.gpu.pcie.width.max", 1] == 16
    assert told["hw.gpu.pcie.generation.max", 1] == 5
    assert told["hw.gpu.pcie.width", 0] == 16


def test_a_node_without_such_devices_or_without_sys_says_so(tmp_path):
    def bus(sys):
        return GpuBus(
            devices=DeviceRegister(), emit=lambda event: None, answering=lambda now: {}, sys=sys
        )

    (tmp_path / "bus/pci/devices").mkdir(parents=True)
    assert bus(tmp_path).supported() == (False, "no NVIDIA device on the bus")
    supported, why = bus(tmp_path / "nothing").supported()
    assert not supported
    assert "mount /sys" in why
