"""The readers of the network over whole nodes as the laboratory builds them."""

import pytest

from bench.node import trees
from rankscope.agent.health import AgentHealth
from rankscope.agent.readers.network.inventory import PortInventory
from rankscope.agent.readers.network.links import NetworkLinks
from rankscope.agent.readers.network.ports import NetworkPorts
from rankscope.agent.readers.network.rails import NetworkRails
from rankscope.agent.settings import NetworkSettings
from rankscope.vocabulary.samples import Event


class Watched:
    """A node and the readers of its network."""

    def __init__(self, node: trees.NodeTrees) -> None:
        self.node = node
        self.events: list[Event] = []
        sys, proc = node.files.sys, node.files.proc
        inventory = PortInventory(settings=NetworkSettings(), sys=sys, proc=proc)
        self.links = NetworkLinks(inventory=inventory, emit=self.events.append)
        self.rails = NetworkRails(period=30.0, inventory=inventory, settings=NetworkSettings())
        self.ports = NetworkPorts(
            period=5.0, inventory=inventory, health=AgentHealth(), emit=self.events.append
        )
        self.at = 1000.0

    def up(self, *, seconds=1.0):
        self.at += seconds
        return {dict(one.attributes)["device"]: one.value for one in self.links.read(self.at)}

    def told(self):
        told = [dict(event.attributes) for event in self.events]
        self.events.clear()
        return [(one["device"], one.get("state"), one.get("reason")) for one in told]


@pytest.fixture
def watch(tmp_path):
    def watch(network, **given):
        return Watched(trees.build(tmp_path, network=network, **given))

    return watch


@pytest.mark.parametrize("network", ["ndr", "hdr", "roce", "ethernet"])
def test_each_card_of_a_healthy_node_is_up_and_serves_the_gpu_beside_it(watch, network):
    watched = watch(network)
    assert watched.up() == dict.fromkeys(watched.node.nics, 1)
    placed = {one["device"]: one for one in (dict(x.attributes) for x in watched.rails.read(1.0))}
    for number, name in enumerate(watched.node.nics):
        assert (placed[name]["gpu"], placed[name]["rail"]) == (number, str(number))
    assert watched.told() == []


def test_four_cards_of_eight_gpus_serve_those_beside_them(watch):
    watched = watch("ndr", nics=4)
    gpus = [dict(one.attributes)["gpu"] for one in watched.rails.read(1.0)]
    assert gpus == [0, 1, 2, 3]


def test_a_node_without_a_network_of_its_own_has_the_management_interface(watch):
    assert watch("none").up() == {trees.MANAGEMENT: 1}


@pytest.mark.parametrize(("network", "gigabits"), [("ndr", 400), ("hdr", 200), ("roce", 400)])
def test_bytes_and_rates_are_those_that_went_over_the_port(watch, network, gigabits):
    watched = watch(network, gpus=1)
    watched.ports.read(1000.0)
    watched.node.network.carry("mlx5_0", sent=4096 * 100, received=4096 * 50)
    found = {
        (one.metric, dict(one.attributes).get("direction")): one.value
        for one in watched.ports.read(1005.0)
    }
    assert found[("hw.network.io", "transmit")] == 4096 * 100
    assert found[("hw.network.io", "receive")] == 4096 * 50
    assert found[("hw.network.bandwidth.limit", None)] == gigabits * 1e9 / 8


@pytest.mark.parametrize("network", ["ndr", "roce"])
def test_one_link_that_goes_down_is_told_and_the_others_stay_up(watch, network):
    watched = watch(network)
    watched.up()
    watched.node.network.down("mlx5_3")
    assert [name for name, up in watched.up().items() if not up] == ["mlx5_3"]
    watched.node.network.up("mlx5_3")
    assert set(watched.up().values()) == {1}
    assert watched.told() == [("mlx5_3", "down", "carrier"), ("mlx5_3", "up", None)]


@pytest.mark.parametrize("network", ["ndr", "roce", "ethernet"])
def test_a_card_that_is_pulled_out_is_gone_after_three_looks(watch, network):
    watched = watch(network)
    watched.up()
    name = watched.node.nics[5]
    if network == "ethernet":
        watched.node.network.unplug_interface(name)
    else:
        watched.node.network.unplug(name)
    watched.up()
    watched.up()
    assert watched.told() == []
    assert watched.up()[name] == 0
    assert watched.told() == [(name, "down", "gone")]


def test_flaps_between_two_looks_are_one_event(watch):
    watched = watch("roce")
    watched.up()
    watched.node.network.flap("ens4np0", times=3)
    assert set(watched.up().values()) == {1}
    assert watched.told() == [("mlx5_3", "up", "flapping")]
