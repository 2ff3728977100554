import threading

import pytest

from rankscope.agent import kernel_files

from .conftest import Node


def keys(tree, **settings):
    return [port.key for port in Node(tree, **settings).inventory.ports(0.0)]


@pytest.fixture
def cluster_node(tree):
    """Two training ports, one VF, a management interface, and what has no hardware behind it."""
    tree.rdma("mlx5_0", "pci0000:00/0000:0c:00.0", interface="ib0")
    tree.rdma("mlx5_1", "pci0000:00/0000:0d:00.0", layer="Ethernet", interface="ens1")
    tree.rdma("mlx5_2", "pci0000:00/0000:0d:00.1", layer="Ethernet", interface="ens1v0")
    (tree.sys / "devices/pci0000:00/0000:0d:00.1/physfn").mkdir()
    tree.net("eth0", tree.pci("pci0000:00/0000:01:00.0"))
    for virtual in ("lo", "veth1234", "docker0", "bond0"):
        tree.net(virtual)
    return tree


def test_rdma_ports_are_watched_and_nothing_else_beside_them(cluster_node):
    assert keys(cluster_node) == ["mlx5_0/1", "mlx5_1/1"]


def test_settings_have_the_last_word(cluster_node):
    assert keys(cluster_node, exclude=("ens*",)) == ["mlx5_0/1"]
    assert keys(cluster_node, include=("eth*", "mlx5_2")) == [
        "eth0/1",
        "mlx5_0/1",
        "mlx5_1/1",
        "mlx5_2/1",
    ]


def test_the_rdma_port_of_the_default_route_is_for_management(cluster_node):
    cluster_node.route("ens1")
    assert keys(cluster_node) == ["mlx5_0/1"]


def test_interfaces_beneath_the_default_route_are_for_management_too(cluster_node):
    cluster_node.route("bond0")
    (cluster_node.sys / "class/net/bond0/lower_ens1").mkdir()
    assert keys(cluster_node) == ["mlx5_0/1"]


def test_a_node_with_ethernet_only_tells_its_plain_interfaces_but_not_management(tree):
    for number, name in enumerate(("eth0", "eth1", "eth2")):
        tree.net(name, tree.pci(f"pci0000:00/0000:0{number}:00.0"))
    assert keys(tree) == ["eth1/1", "eth2/1"]


def test_the_only_interface_is_watched_although_it_carries_the_default_route(tree):
    tree.net("eth0", tree.pci("pci0000:00/0000:01:00.0"))
    assert keys(tree) == ["eth0/1"]


def test_the_only_rdma_port_is_watched_although_it_carries_the_default_route(tree):
    tree.rdma("mlx5_0", "pci0000:00/0000:0c:00.0", layer="Ethernet", interface="eth0")
    assert keys(tree) == ["mlx5_0/1"]


def test_the_interface_of_an_older_driver_is_found_by_its_number(tree):
    port = tree.rdma("mlx5_0", "pci0000:00/0000:0c:00.0", layer="Ethernet", interface="ens1")
    (port / "gid_attrs/ndevs/0").unlink()
    (found,) = Node(tree).inventory.ports(0.0)
    assert (found.interface, found.kind, found.pci) == ("ens1", "roce", "0000:0c:00.0")


def test_a_node_with_nothing_has_no_ports(tree):
    assert keys(tree) == []


def test_a_node_that_loses_its_rdma_ports_does_not_turn_to_its_management_interface(cluster_node):
    inventory = Node(cluster_node).inventory
    inventory.ports(0.0)
    (cluster_node.sys / "class/infiniband").rename(cluster_node.sys / "away")
    looks = [[port.key for port in inventory.ports(at, look=True)] for at in (10.0, 11.0, 12.0)]
    assert looks == [["mlx5_0/1", "mlx5_1/1"], ["mlx5_0/1", "mlx5_1/1"], []]


def test_a_port_that_becomes_management_is_left_without_a_word(tree):
    for number, name in enumerate(("eth0", "eth1", "eth2")):
        tree.net(name, tree.pci(f"pci0000:00/0000:0{number}:00.0"))
    node = Node(tree)
    assert len(node.links.read(0.0)) == 2
    tree.route("eth0", "eth1")
    assert len(node.links.read(100.0)) == 1
    assert node.told() == []


def test_a_look_that_a_driver_holds_up_does_not_hold_up_those_who_know_already(
    cluster_node, monkeypatch
):
    inventory = Node(cluster_node).inventory
    seen = inventory.ports(0.0)
    hangs, returns, names = threading.Event(), threading.Event(), kernel_files.names

    def hang(folder):
        hangs.set()
        returns.wait(60)
        return names(folder)

    monkeypatch.setattr(kernel_files, "names", hang)
    looking = threading.Thread(target=inventory.ports, args=(100.0,))
    looking.start()
    assert hangs.wait(60)
    assert inventory.ports(101.0, look=True) == seen
    returns.set()
    looking.join(60)
    assert not looking.is_alive()


def test_who_asks_during_the_first_look_waits_for_it_and_is_told_the_same(
    cluster_node, monkeypatch
):
    inventory = Node(cluster_node).inventory
    looking, go_on = threading.Event(), threading.Event()
    look = inventory._look

    def slowly():
        looking.set()
        assert go_on.wait(60)
        look()

    monkeypatch.setattr(inventory, "_look", slowly)
    told: list[list[str]] = []

    def ask():
        told.append([port.key for port in inventory.ports(0.0)])

    askers = [threading.Thread(target=ask) for _ in range(2)]
    for asker in askers:
        asker.start()
        assert looking.wait(60)
    go_on.set()
    for asker in askers:
        asker.join(60)
    assert told == [["mlx5_0/1", "mlx5_1/1"]] * 2
