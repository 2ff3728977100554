import os

import pytest

from rankscope.agent.readers.network.flapping import FOLD_SECONDS, SINGLY

from .conftest import Node, values


def up(samples):
    return {device: value for (_, device), value in values(samples).items()}


@pytest.fixture
def ib(tree):
    return tree.rdma("mlx5_0", "pci0000:00/0000:0c:00.0")


@pytest.fixture
def roce(tree):
    tree.rdma("mlx5_1", "pci0000:00/0000:0d:00.0", layer="Ethernet", interface="ens1")
    return tree.sys / "class/net/ens1"


def test_a_link_that_goes_down_is_told_at_the_next_reading_and_so_is_its_return(tree, ib):
    node = Node(tree)
    assert up(node.links.read(0.0)) == {"mlx5_0": 1}
    tree.put(ib / "state", "1: DOWN")
    tree.put(ib / "phys_state", "2: Polling")
    assert up(node.links.read(1.0)) == {"mlx5_0": 0}
    assert node.told() == [
        {
            "device": "mlx5_0",
            "port": "1",
            "state": "down",
            "reason": "carrier",
            "text": "mlx5_0 port 1 is down: no carrier: cable, transceiver or the switch's port",
        }
    ]
    tree.put(ib / "state", "4: ACTIVE")
    assert up(node.links.read(2.0)) == {"mlx5_0": 1}
    assert [(one["state"], one.get("count")) for one in node.told()] == [("up", None)]


def test_a_link_that_waits_for_its_subnet_manager_says_so(tree, ib):
    node = Node(tree)
    node.links.read(0.0)
    tree.put(ib / "state", "2: INIT")
    node.links.read(1.0)
    assert [one["reason"] for one in node.told()] == ["subnet_manager"]


def test_a_roce_port_is_judged_by_its_carrier_not_by_the_state_of_its_device(tree, roce):
    node = Node(tree)
    assert up(node.links.read(0.0)) == {"mlx5_1": 1}
    tree.put(roce / "carrier", 0)
    assert up(node.links.read(1.0)) == {"mlx5_1": 0}
    assert [one["reason"] for one in node.told()] == ["carrier"]


def test_an_interface_that_is_set_down_while_it_was_up_says_who_did_it(tree, roce):
    node = Node(tree)
    node.links.read(0.0)
    tree.put(roce / "carrier", 0)
    tree.put(roce / "flags", "0x1002")
    node.links.read(1.0)
    assert [(one["state"], one["reason"]) for one in node.told()] == [("down", "admin")]


def test_a_port_that_was_never_up_is_not_down_but_not_in_use(tree):
    spare = tree.rdma("mlx5_2", "pci0000:00/0000:0e:00.0")
    tree.put(spare / "state", "1: DOWN")
    node = Node(tree)
    assert node.links.supported() == (
        True,
        "not in use, never up since the host started: mlx5_2/1",
    )
    assert [node.links.read(at) for at in (0.0, 1.0, 2.0)] == [[], [], []]
    assert node.told() == []
    tree.put(spare / "state", "4: ACTIVE")
    assert up(node.links.read(3.0)) == {"mlx5_2": 1}
    assert node.told() == []
    tree.put(spare / "state", "1: DOWN")
    assert up(node.links.read(4.0)) == {"mlx5_2": 0}
    assert len(node.told()) == 1


def test_a_port_that_was_up_before_the_agent_came_is_down_without_an_event(tree, ib):
    tree.put(ib / "state", "1: DOWN")
    tree.put(ib / "counters/port_rcv_data", 12345)
    node = Node(tree)
    assert up(node.links.read(0.0)) == {"mlx5_0": 0}
    assert node.told() == []


def test_what_changed_while_the_agent_was_away_is_told_when_it_returns(tree, ib):
    Node(tree).links.read(0.0)
    tree.put(ib / "state", "1: DOWN")
    again = Node(tree)
    again.links.read(10.0)
    assert [one["state"] for one in again.told()] == ["down"]
    once_more = Node(tree)
    once_more.links.read(20.0)
    assert once_more.told() == []


def test_after_another_boot_nothing_is_known_of_the_links(tree, ib):
    Node(tree).links.read(0.0)
    tree.put(ib / "state", "1: DOWN")
    tree.boot("boot-2")
    again = Node(tree)
    assert again.links.read(10.0) == []
    assert again.told() == []


def test_a_flap_between_two_readings_is_one_event_with_its_count(tree, roce):
    node = Node(tree)
    node.links.read(0.0)
    tree.put(roce / "carrier_changes", 7)
    assert up(node.links.read(1.0)) == {"mlx5_1": 1}
    told = node.told()
    assert [(one["state"], one["count"], one["reason"]) for one in told] == [("up", 6, "flapping")]


def test_a_change_seen_is_not_counted_again_by_the_counter_of_changes(tree, roce):
    node = Node(tree)
    node.links.read(0.0)
    for at, carrier in enumerate((0, 1), start=1):
        tree.put(roce / "carrier", carrier)
        tree.put(roce / "carrier_changes", 1 + at)
        node.links.read(float(at))
    assert [(one["state"], one.get("count")) for one in node.told()] == [
        ("down", None),
        ("up", None),
    ]
    node.links.read(3.0)
    assert node.told() == []


def test_a_count_that_is_ahead_of_the_carrier_waits_for_it(tree, roce):
    """The carrier may change after it was read and before the count is."""
    node = Node(tree)
    node.links.read(0.0)
    tree.put(roce / "carrier_changes", 2)
    node.links.read(1.0)
    assert node.told() == []
    tree.put(roce / "carrier", 0)
    node.links.read(2.0)
    assert [(one["state"], one.get("count")) for one in node.told()] == [("down", None)]


def test_minutes_of_flapping_are_a_few_events_that_count_it_all_and_end_with_the_truth(tree, roce):
    node = Node(tree)
    node.links.read(0.0)
    changes, at = 1, 0
    for at in range(1, 601):
        changes += 1
        tree.put(roce / "carrier", (changes % 2))
        tree.put(roce / "carrier_changes", changes)
        node.links.read(float(at))
    tree.put(roce / "carrier", 0)
    tree.put(roce / "carrier_changes", changes + changes % 2)
    for later in range(1, int(FOLD_SECONDS) + 2):
        node.links.read(float(at + later))
    told = node.told()
    assert len(told) <= (SINGLY + 1) * (600 / FOLD_SECONDS + 2)
    assert sum(one.get("count", 1) for one in told) == changes + changes % 2 - 1
    assert told[-1]["state"] == "down"


def test_a_device_is_gone_after_three_looks_not_after_one(tree, ib):
    node = Node(tree)
    node.links.read(0.0)
    device = ib.parent.parent
    hidden = device.with_name("hidden")
    away = tree.sys / "hidden"
    device.rename(away)
    _close(node)
    node.links.read(1.0)
    node.links.read(2.0)
    assert node.told() == []
    node.links.read(3.0)
    assert [(one["state"], one["reason"]) for one in node.told()] == [("down", "gone")]
    assert up(node.links.read(4.0)) == {"mlx5_0": 0}
    away.rename(device)
    assert not hidden.exists()
    node.links.read(40.0)
    assert [one["state"] for one in node.told()] == ["up"]


def test_a_driver_that_is_loaded_again_within_two_looks_is_no_loss(tree, ib):
    node = Node(tree)
    node.links.read(0.0)
    device, away = ib.parent.parent, tree.sys / "hidden"
    for at in (10.0, 20.0, 30.0):
        device.rename(away)
        _close(node)
        node.links.read(at)
        away.rename(device)
        node.links.read(at + 1.0)
    assert node.told() == []


def test_an_efa_device_without_an_interface_is_not_said_to_be_up(tree):
    """Its state file always says ACTIVE."""
    tree.rdma("rdmap0", "pci0000:00/0000:0c:00.0", driver="efa", layer="Unspecified")
    node = Node(tree)
    assert node.links.supported() == (True, "")
    assert node.links.read(0.0) == []


def test_sixteen_ports_are_read_every_second_without_opening_a_file_again(tree, monkeypatch):
    for number in range(16):
        tree.rdma(f"mlx5_{number}", f"pci0000:00/0000:{number + 16:02x}:00.0")
    node = Node(tree)
    node.links.read(0.0)
    opened = []
    really = os.open

    def watched(path, *more):
        opened.append(path)
        return really(path, *more)

    monkeypatch.setattr(os, "open", watched)
    for at in range(1, 11):
        assert len(node.links.read(float(at))) == 16
    assert opened == []


def _close(node):
    """Files of a device that left cannot be read any more, held open or not: so it is in sysfs."""
    for link in node.links._links.values():
        link.close()
