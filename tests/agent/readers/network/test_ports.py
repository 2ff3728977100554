import pytest

from rankscope.agent.readers.network import counters
from rankscope.vocabulary import metrics
from rankscope.vocabulary.device_faults import thresholds

from .conftest import Node, values


def test_an_infiniband_port_tells_rate_bytes_errors_and_congestion(tree):
    port = tree.rdma("mlx5_0", "pci0000:00/0000:00:01.0/0000:0c:00.0")
    tree.put(port / "counters/port_rcv_data", 1000)
    tree.put(port / "counters/port_xmit_data", 2000)
    tree.put(port / "counters/symbol_error", 3)
    tree.put(port / "counters/port_xmit_wait", 7)
    tree.put(port / "hw_counters/np_cnp_sent", 2)
    tree.put(port / "hw_counters/rp_cnp_handled", 5)
    tree.put(port / "hw_counters/np_ecn_marked_roce_packets", 11)
    found = values(Node(tree).ports.read(100.0))
    assert found[("hw.network.bandwidth.limit", "mlx5_0")] == 50e9
    assert found[("hw.network.io", "mlx5_0", "receive")] == 4000
    assert found[("hw.network.io", "mlx5_0", "transmit")] == 8000
    assert found[("hw.network.errors", "mlx5_0", "symbol_error")] == 3
    assert found[("hw.network.congestion", "mlx5_0", "xmit_wait")] == 7
    assert found[("hw.network.congestion", "mlx5_0", "cnp")] == 7
    assert found[("hw.network.congestion", "mlx5_0", "ecn")] == 11


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("200 Gb/sec (4X HDR)", 25e9),
        ("2.5 Gb/sec (1X SDR)", 0.3125e9),
        ("800 Gb/sec (4X XDR)", 1e11),
    ],
)
def test_a_rate_is_told_in_bytes_a_second(tree, text, rate):
    tree.rdma("mlx5_0", "pci0000:00/0000:0c:00.0", rate=text)
    assert values(Node(tree).ports.read(1.0))[("hw.network.bandwidth.limit", "mlx5_0")] == rate


def test_a_roce_port_without_rdma_bytes_tells_those_of_its_interface(tree):
    port = tree.rdma(
        "rocep1", "pci0000:00/0000:0c:00.0", layer="Ethernet", interface="ens1", driver="bnxt_en"
    )
    for name in ("port_rcv_data", "port_xmit_data"):
        (port / "counters" / name).write_text("N/A (no PMA)\n")
    net = tree.sys / "class/net/ens1/statistics"
    tree.put(net / "rx_bytes", 70)
    tree.put(net / "tx_bytes", 80)
    tree.put(net / "rx_crc_errors", 4)
    found = values(Node(tree).ports.read(1.0))
    assert found[("hw.network.io", "rocep1", "receive")] == 70
    assert found[("hw.network.io", "rocep1", "transmit")] == 80
    assert found[("hw.network.errors", "rocep1", "rx_crc_errors")] == 4


def test_an_efa_device_tells_its_own_counters_and_commands_that_never_completed(tree):
    port = tree.rdma("rdmap0", "pci0000:00/0000:0c:00.0", driver="efa", layer="Unspecified")
    tree._write(port / "hw_counters/rx_bytes", "500")
    tree._write(port / "hw_counters/tx_bytes", "600")
    stuck = port.parent.parent / "hw_counters/no_completion_cmds"
    tree._write(stuck, "0")
    node = Node(tree)
    found = values(node.ports.read(0.0))
    assert found[("hw.network.io", "rdmap0", "receive")] == 500
    assert found[("hw.network.errors", "rdmap0", "efa_no_completion_cmds")] == 0
    tree.put(stuck, 1)
    node.ports.read(5.0)
    assert [(one["code"], one["class"]) for one in node.told()] == [
        ("efa_no_completion_cmds", "fatal")
    ]


def test_a_counter_that_starts_anew_goes_on_from_where_it_was(tree):
    port = tree.rdma("mlx5_0", "pci0000:00/0000:0c:00.0")
    data = port / "counters/port_rcv_data"
    node = Node(tree)
    seen = []
    for at, raw in enumerate((100, 250, 20, 30)):
        tree.put(data, raw)
        seen.append(values(node.ports.read(5.0 * at))[("hw.network.io", "mlx5_0", "receive")] / 4)
    assert seen == [100, 250, 270, 280]


def test_a_counter_without_a_value_is_left_out_and_comes_back(tree):
    port = tree.rdma("mlx5_0", "pci0000:00/0000:0c:00.0")
    error = ("hw.network.errors", "mlx5_0", "symbol_error")
    node = Node(tree)
    assert error in values(node.ports.read(0.0))
    (port / "counters/symbol_error").write_text("N/A\n")
    assert error not in values(node.ports.read(5.0))
    tree.put(port / "counters/symbol_error", 2)
    assert values(node.ports.read(10.0))[error] == 2


def test_a_legacy_counter_at_its_highest_value_is_told_until_it_moves(tree):
    port = tree.rdma("mlx5_0", "pci0000:00/0000:0c:00.0")
    node = Node(tree)

    def full():
        every = {measure.name: found for measure, found in node.health.everything(0.0)}
        return every["rankscope_agent_port_saturated"].get(("mlx5_0", "1", "symbol_error"))

    node.ports.read(0.0)
    assert full() is None
    tree.put(port / "counters/symbol_error", 65535)
    node.ports.read(5.0)
    assert full() == 1
    tree.put(port / "counters/symbol_error", 65536)  # it is a wide one after all
    node.ports.read(10.0)
    assert full() == 0


def test_every_counter_read_is_in_the_vocabulary_and_every_limit_is_read():
    assert {one.metric for one in counters.known()} <= set(metrics.catalogue())
    for one in counters.known():
        allowed = metrics.catalogue()[one.metric].values.get(one.label[0])
        assert allowed is None or one.label[1] in allowed
    read = {one.label[1] for one in counters.known()}
    assert set(thresholds.infiniband()) - read == {"carrier_changes"}  # that one is of the links


def test_a_node_without_ports_says_where_it_looked(tree):
    supported, reason = Node(tree).ports.supported()
    assert not supported
    assert "/sys/class/infiniband" in reason
