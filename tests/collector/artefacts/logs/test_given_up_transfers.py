"""Transfers over RDMA that were given up: which end nearly all of them share."""

import pytest
from tests.collector.artefacts.test_always_an_answer import said

from rankscope.collector.artefacts.logs import given_up_transfers


def pairs(*names):
    return [frozenset(name) for name in names]


@pytest.mark.parametrize(
    ("given_up", "end"),
    [
        (("ab", "bc"), "b"),
        (("ab", "ac", "ad", "ad"), "a"),
        (("ab", "ac", "ad", "bc"), "a"),
        (("ab",), None),
        (("ab", "ab"), None),
        (("ab", "cd"), None),
        (("ab", "bc", "ca"), None),
        (("ab", "bc", "cd", "de"), None),
    ],
)
def test_the_end_that_nearly_all_pairs_share_is_where_to_look(given_up, end):
    assert end == given_up_transfers.shared(pairs(*given_up))


INIT = (
    "{host}:{pid}:12 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.{n}<0>\n"
    "{host}:{pid}:12 [0] NCCL INFO comm 0x55f01c18e490 rank {rank} nranks 4 cudaDev 0 nvmlDev 0 "
    "busId 59000 commId 0x5ae77eb5ea4ec1ee - Init COMPLETE\n"
)
START = "".join(INIT.format(host=f"node{n}", pid=900 + n, n=n, rank=n - 1) for n in range(1, 5))


def nccl(one, other, gids=True):
    line = (
        f"node{one}:{900 + one}:34 [0] transport/net_ib.cc:2244 NCCL WARN NET/IB: Got completion "
        f"from peer 10.0.0.{other}<4321> with status=12 opcode=129 len=1 vendor err 129 (Recv)"
    )
    if gids:
        line += f" localGid ::ffff:10.9.0.{one} remoteGids::ffff:10.9.0.{other} hca mlx5_0"
    return line + "\n"


def openib(one, other):
    return (
        f"[[4711,1],3][btl_openib_component.c:3497:handle_wc] from node{one} to: node{other} error "
        "polling LP CQ with status RETRY EXCEEDED ERROR status number 12 for wr_id 7 opcode 0\n"
    )


def ucx(one, lid):
    line = f"[node{one}:4711:0:4711] ib_mlx5_log.c:143  "
    return (
        f"{line}Transport retry count exceeded on mlx5_0:1/IB (synd 0x15 vend 0x81 hw_synd 0/0)\n"
        f"{line}DCI QP 0x10f3a wqe[446]: SEND s-e [rqpn 0x32ca rlid {lid}] [inl len 20]\n"
    )


@pytest.fixture
def answer(explain, tmp_path):
    """Return a function that gives cause and entity of a log."""

    def run(text):
        (tmp_path / "job.log").write_text(text)
        fault, _, entity = said(explain(tmp_path))
        return fault, entity

    return run


def test_the_port_that_gave_up_on_all_of_its_peers_and_they_on_it_is_named(answer):
    lines = nccl(1, 2) + nccl(3, 2) + nccl(2, 3) + nccl(2, 1)
    assert ("network.nic_down", "node2/mlx5_0:1") == answer(START + lines)


@pytest.mark.parametrize("gids", [True, False])
def test_the_peer_on_which_all_gave_up_is_named_though_it_says_nothing(answer, gids):
    lines = nccl(1, 2, gids) + nccl(3, 2, gids)
    assert ("network.nic_down", "node2/unnamed-port:1") == answer(START + lines)


def test_without_the_start_of_the_log_a_peer_is_named_by_its_address(answer):
    assert "10.0.0.2/unnamed-port:1" == answer(nccl(1, 2) + nccl(3, 2))[1]


@pytest.mark.parametrize(
    ("lines", "entity"),
    [
        (openib(1, 2) + openib(3, 2), "node2/unnamed-port:1"),
        (ucx(1, 703) + ucx(3, 703), "rlid-703/unnamed-port:1"),
        (ucx(1, 703) + ucx(1, 704), "node1/mlx5_0:1"),
    ],
    ids=["openib", "UCX, one peer", "UCX, one that gives up on several"],
)
def test_other_libraries_say_so_in_their_own_words(answer, lines, entity):
    assert ("network.nic_down", entity) == answer(lines)


@pytest.mark.parametrize(
    "lines",
    [nccl(1, 2), nccl(1, 2) + nccl(2, 1), nccl(1, 2) + nccl(3, 4), ucx(1, 703) * 3],
    ids=["one line", "one pair", "pairs apart", "one peer of one host"],
)
def test_nobody_is_named_where_nothing_tells_the_ends_apart(answer, lines):
    assert "unknown" == answer(START + lines)[0]


def test_a_peer_that_ended_by_an_error_of_its_own_is_no_port(answer):
    ended = "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
    assert "memory.gpu_oom" == answer(START + ended + nccl(1, 2) + nccl(3, 2))[0]
