"""A node as folders is built as the kernel shows one, and changes as a kernel's files do."""

import os
from itertools import takewhile

import pytest

from bench.node import trees
from rankscope.lab.node import nvml


@pytest.fixture
def node(tmp_path):
    return trees.build(tmp_path)


def listed(node, path):
    return sorted(entry.name for entry in (node.files.sys / path).iterdir())


def said(node, path):
    return (node.files.sys / path).read_text().strip()


def test_gpus_are_where_the_driver_says_they_are(node):
    assert node.gpus == tuple(nvml.bus_address(gpu) for gpu in range(8))
    bus = node.files.sys / "bus/pci/devices"
    for address in node.gpus:
        assert (bus / address / "vendor").read_text() == "0x10de\n"
        assert (bus / address / "class").read_text() == "0x030200\n"
        assert (bus / address / "current_link_speed").read_text() == "32.0 GT/s PCIe\n"
        assert (bus / address / "config").read_bytes()[:4] == b"\xde\x10\x30\x23"
        assert (bus / address / "driver").resolve().name == "nvidia"


def test_a_gpu_and_its_card_share_a_switch_and_rails_share_nothing(node):
    def ancestors(path):
        return (node.files.sys / path).resolve().parts

    def shared(one, other):
        pairs = zip(one, other, strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))

    gpus = [ancestors(f"bus/pci/devices/{address}") for address in node.gpus]
    cards = [ancestors(f"class/infiniband/{name}/device") for name in node.nics]
    for rail, card in enumerate(cards):
        path = [shared(card, gpu) for gpu in gpus]
        assert path[rail] == max(path)
        assert path.count(path[rail]) == 1
    assert said(node, f"bus/pci/devices/{node.gpus[0]}/numa_node") == "0"
    assert said(node, f"bus/pci/devices/{node.gpus[7]}/numa_node") == "1"


@pytest.mark.parametrize(
    ("network", "layer", "rate"),
    [
        ("ndr", "InfiniBand", "400 Gb/sec (4X NDR)"),
        ("hdr", "InfiniBand", "200 Gb/sec (4X HDR)"),
        ("roce", "Ethernet", "400 Gb/sec (4X NDR)"),
    ],
)
def test_a_port_says_its_layer_rate_and_state(tmp_path, network, layer, rate):
    node = trees.build(tmp_path, network=network)
    port = node.network.port("mlx5_3")
    assert (port / "link_layer").read_text() == f"{layer}\n"
    assert (port / "rate").read_text() == f"{rate}\n"
    assert (port / "state").read_text() == "4: ACTIVE\n"
    assert (port / "counters/symbol_error").read_text() == "0\n"
    assert (port / "hw_counters/roce_slow_restart").read_text() == "0\n"
    interface = (port / "gid_attrs/ndevs/0").read_text().strip()
    assert (node.files.sys / "class/net" / interface / "device").resolve() == (
        node.files.sys / "class/infiniband/mlx5_3/device"
    ).resolve()


def test_a_node_may_have_no_training_network_at_all(tmp_path):
    node = trees.build(tmp_path, profile="L40S", gpus=2, network="none")
    assert node.nics == ()
    assert not (node.files.sys / "class/infiniband").exists()
    assert listed(node, "class/net") == ["eno1", "lo"]
    assert "eno1\t00000000" in (node.files.proc / "net/route").read_text()


def test_plain_cards_have_interfaces_and_no_rdma_device(tmp_path):
    node = trees.build(tmp_path, gpus=2, network="ethernet")
    assert node.nics == ("ens1np0", "ens2np0")
    assert not (node.files.sys / "class/infiniband").exists()
    assert said(node, "class/net/ens1np0/speed") == "400000"


def test_a_link_goes_down_and_comes_back(node):
    node.network.down("mlx5_2")
    port = "class/infiniband/mlx5_2/ports/1"
    assert said(node, f"{port}/state") == "1: DOWN"
    assert said(node, f"{port}/counters/link_downed") == "1"
    assert said(node, "class/net/ib2/carrier") == "0"
    assert said(node, "class/net/ib2/carrier_changes") == "2"
    node.network.up("mlx5_2")
    assert said(node, f"{port}/phys_state") == "5: LinkUp"
    assert said(node, "class/net/ib2/operstate") == "up"
    assert said(node, "class/infiniband/mlx5_3/ports/1/state") == "4: ACTIVE"


def test_a_flap_leaves_only_its_count(node):
    node.network.flap("ib1", 3)
    assert said(node, "class/net/ib1/carrier") == "1"
    assert said(node, "class/net/ib1/carrier_changes") == "7"


def test_counters_grow_and_data_is_counted_in_fours(node):
    assert node.network.count("mlx5_0", "symbol_error", 130) == 130
    assert node.network.count("mlx5_0", "np_cnp_sent", 5) == 5
    node.network.carry("mlx5_0", sent=4096, received=8192)
    port = "class/infiniband/mlx5_0/ports/1/counters"
    assert said(node, f"{port}/port_xmit_data") == "1024"
    assert said(node, f"{port}/port_rcv_data") == "2048"


def test_an_interfaces_traffic_is_in_its_counters_and_in_the_summary(node):
    node.network.traffic("eno1", received=3000, sent=1500)
    assert said(node, "class/net/eno1/statistics/rx_bytes") == "3000"
    [line] = [
        line
        for line in (node.files.proc / "net/dev").read_text().splitlines()
        if line.strip().startswith("eno1:")
    ]
    columns = line.split()
    assert (columns[1], columns[2], columns[9], columns[10]) == ("3000", "2", "1500", "1")
    assert len(columns) == 17


def test_a_reader_that_keeps_its_file_open_sees_each_change(node):
    path = node.files.sys / "class/infiniband/mlx5_0/ports/1/counters/symbol_error"
    with path.open("rb") as kept:
        for value in (7, 1_000_000, 3):
            node.files.write(path, value)
            assert os.pread(kept.fileno(), 100, 0) == f"{value}\n".encode()


def test_a_device_is_unplugged_with_its_interface(node):
    node.network.unplug("mlx5_4")
    assert "mlx5_4" not in listed(node, "class/infiniband")
    assert "ib4" not in listed(node, "class/net")
    assert "mlx5_5" in listed(node, "class/infiniband")


def test_a_gpu_falls_silent_and_then_off_the_bus(node):
    address = node.gpus[6]
    node.pci.silence(address)
    assert (node.pci.folder(address) / "config").read_bytes()[:2] == b"\xff\xff"
    node.pci.unplug(address)
    assert not (node.files.sys / "bus/pci/devices" / address).exists()
    assert (node.files.sys / "bus/pci/devices" / node.gpus[5]).exists()


def test_a_link_trains_down_and_counts_errors(node):
    address = node.gpus[1]
    node.pci.train(address, width=8, generation=4)
    assert said(node, f"bus/pci/devices/{address}/current_link_width") == "8"
    assert said(node, f"bus/pci/devices/{address}/current_link_speed") == "16.0 GT/s PCIe"
    assert said(node, f"bus/pci/devices/{address}/max_link_width") == "16"
    node.pci.count_errors(address, "correctable", "BadTLP", 4)
    node.pci.count_errors(address, "correctable", "RxErr")
    errors = said(node, f"bus/pci/devices/{address}/aer_dev_correctable").splitlines()
    assert errors[0] == "RxErr 1"
    assert errors[-1] == "TOTAL_ERR_COR 5"
