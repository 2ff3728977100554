from rankscope.agent.devices import DeviceRegister, KnownDevice
from rankscope.agent.readers.network.rails import NetworkRails

from .conftest import Node


def info(node):
    return {
        pairs["device"]: (pairs["gpu"], pairs["rail"], pairs["switch"], pairs["switch_port"])
        for pairs in (dict(one.attributes) for one in node.rails.read(1.0))
    }


def test_each_port_serves_the_gpu_behind_the_same_switch(tree):
    """Behind the second switch the GPU has the lower address, behind the first the port has."""
    tree.rdma("mlx5_9", "pci0000:00/0000:00:01.0/0000:02:00.0/0000:04:00.0")
    tree.gpu("pci0000:00/0000:00:01.0/0000:02:01.0/0000:05:00.0")
    tree.gpu("pci0000:00/0000:00:02.0/0000:12:00.0/0000:13:00.0")
    tree.rdma("mlx5_1", "pci0000:00/0000:00:02.0/0000:12:01.0/0000:14:00.0")
    assert info(Node(tree)) == {
        "mlx5_9": (0, "0", "leaf-1", ""),
        "mlx5_1": (1, "1", "leaf-1", ""),
    }


def test_ports_that_are_equally_near_share_the_gpus_out(tree):
    for number in range(4):
        tree.rdma(f"mlx5_{number}", f"pci0000:00/0000:00:0{number}.0")
    for number in range(8):
        tree.gpu(f"pci0000:00/0000:1{number}:00.0")
    assert [one[0] for one in info(Node(tree)).values()] == [0, 2, 4, 6]


def test_without_a_root_in_common_the_numa_node_decides(tree):
    tree.rdma("mlx5_0", "pci0000:10/0000:11:00.0", numa=1)
    tree.rdma("mlx5_1", "pci0000:20/0000:21:00.0", numa=-1)
    tree.gpu("pci0000:40/0000:41:00.0", numa=0)
    tree.gpu("pci0000:50/0000:51:00.0", numa=1)
    assert [one[0] for one in info(Node(tree)).values()] == [1, ""]


def test_a_gpu_has_the_index_that_its_driver_gives_it(tree):
    tree.rdma("mlx5_0", "pci0000:00/0000:0c:00.0")
    tree.gpu("pci0000:00/0000:07:00.0")
    devices = DeviceRegister()
    devices.note(KnownDevice("GPU-1", 5, "0000:07:00.0"))
    node = Node(tree)
    node.rails = NetworkRails(
        period=30.0, inventory=node.inventory, settings=node.settings, devices=devices
    )
    assert info(node) == {"mlx5_0": (5, "0", "", "")}


def test_the_display_of_the_boards_controller_is_no_gpu(tree):
    tree.rdma("mlx5_0", "pci0000:00/0000:0c:00.0")
    tree.pci("pci0000:00/0000:07:00.0", kind="0x030000", vendor="0x1a03")
    tree.pci("pci0000:00/0000:08:00.0", kind="0x030000", vendor="0x19e5")
    assert info(Node(tree)) == {"mlx5_0": ("", "0", "leaf-1", "")}


def test_rails_and_switches_may_be_given(tree):
    tree.rdma("mlx5_0", "pci0000:00/0000:0c:00.0")
    tree.rdma("mlx5_1", "pci0000:00/0000:0d:00.0")
    node = Node(tree, rails={"mlx5_1": "7"}, switches={"mlx5_1": "leaf-9/33"})
    assert info(node) == {
        "mlx5_0": ("", "0", "leaf-1", ""),
        "mlx5_1": ("", "7", "leaf-9", "33"),
    }
