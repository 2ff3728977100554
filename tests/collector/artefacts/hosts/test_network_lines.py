"""Logs that tell of a network: before the first step, after it, and of ports of the host itself."""

import pytest

# ruff: noqa: E501  lines are as long as they are printed

STEPS = "".join(f"iter {step}: loss 2.5{step % 10}, time 100.00ms\n" for step in range(1, 30))
NET = "{}:1{}:2{} [{}] transport/net_ib.cc:93 NCCL WARN NET/IB : {}\n"
RETRIED = "node-7:12:34 [4] transport/net_ib.cc:1238 NCCL WARN NET/IB : Got completion from peer 10.0.0.3<37948> with error 12, opcode 2, len 1, vendor err 129\n"
FIRST = (
    "RuntimeError: Timed out initializing process group in store based barrier on rank: 0, for key:"
    " store_based_barrier_key:1 (world_size=8, worker_count=7, timeout=0:30:00)\n"
)
WAITED = "[rank{0}]: torch.distributed.DistBackendError: [{0}] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') got error: wait timeout after 600000ms, keys: /default_pg/0//cuda//0\n"
LEFT = "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to the C10d store has failed. See inner exception for details.\n"
STORE = """\
Traceback (most recent call last):
  File "/usr/lib/python3/torch/distributed/elastic/rendezvous/c10d_rendezvous_backend.py", line 113, in _call_store
    return getattr(self._store, store_op)(*args, **kwargs)
RuntimeError: {}

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/usr/lib/python3/torch/distributed/elastic/rendezvous/c10d_rendezvous_backend.py", line 115, in _call_store
    raise RendezvousConnectionError(
"""


@pytest.fixture
def first(explain, tmp_path):
    """Return a function: fault and host of the first cause of a log, and the severity."""

    def told(text):
        (tmp_path / "job.log").write_text(text)
        document = explain(tmp_path).document()
        if document is None:
            return "", None, ""
        cause = document["root_cause"]["hypotheses"][0]
        return cause["fault"], cause["entity"].get("host"), document["severity"]

    return told


def ports(host, text, named=""):
    return "".join(NET.format(host, local, local, local, named + text) for local in range(4))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Got async event : port error", ""),
        ("Got async event : port error", "mlx5_2:1 "),
        ("Got non-fatal async event: port error(10)", "mlx5_2:1 "),
        ("Got async event : local catastrophic error", ""),
        ("async fatal event: local catastrophic error", "mlx5_2:1 "),
    ],
)
def test_the_host_whose_port_failed_is_named_and_not_the_one_that_did_not_reach_it(
    first, text, named
):
    told = first(STEPS + ports("node-3", text, named) + RETRIED)
    assert told[:2] == ("network.nic_down", "node-3")


def test_transfers_that_were_retried_for_too_long_alone_name_nobody(first):
    assert first(STEPS + RETRIED)[0] == "unknown"


def test_a_link_that_came_back_while_steps_went_on_is_no_trouble(first):
    down = ports("node-3", "Got non-fatal async event: port error(10)", "mlx5_2:1 ")
    active = ports("node-3", "Got non-fatal async event: port active(9)", "mlx5_2:1 ")
    assert first(STEPS + down + active + STEPS)[2] in ("", "info")


@pytest.mark.parametrize(
    "text",
    [
        "node-3:1:2 [0] misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to 10.0.0.2<39231> failed : No route to host\nnode-3:1:2 [0] NCCL INFO bootstrap.cc:288 -> 2\n",
        "node-3:1:2 [0] NCCL WARN NET/OFI Request 0x7f completed with error. RC: 113. Error: 15 (Unreachable remote). Completed length: 0\nnode-3:1:2 [0] NCCL INFO transport.cc:198 -> 6\n",
        "node-3:1:2 [0] misc/ibvwrap.cc:376 NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_4:1, curr state INIT, next state RTR\n",
        "torch.distributed.DistNetworkError: The client socket has timed out after 300000ms while trying to connect to (node-9, 41331).\n",
        "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: 29500, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use\n",
        "ssh: connect to host node-9 port 22: Connection timed out\nORTE was unable to reliably start one or more daemons.\n",
        "RuntimeError: Gloo connectFullMesh failed with [../gloo/gloo/transport/tcp/pair.cc:144] no error\n",
        LEFT,
        FIRST,
    ],
)
def test_ranks_that_do_not_meet_before_the_first_step_failed_to_start(first, text):
    assert first(text)[0] in ("software.init_failed", "network.bootstrap_failed")


@pytest.mark.parametrize("text", [LEFT, WAITED.format(1), RETRIED])
def test_the_same_lines_after_steps_name_nobody(first, text):
    assert first(STEPS + text)[0] not in ("software.init_failed", "network.bootstrap_failed")


def test_a_launcher_that_had_started_ranks_and_lost_the_store_did_not_fail_to_start(first):
    asked = "W1118 10:00:00.123000 702 torch/distributed/elastic/multiprocessing/api.py:908] Sending process 811 closing signal SIGTERM\n"
    assert first(asked + LEFT)[0] != "software.init_failed"


@pytest.mark.parametrize("raised", ["Broken pipe", "Connection reset by peer"])
def test_a_launcher_whose_store_is_gone_ends_its_ranks_and_is_no_culprit(first, raised):
    asked = "WARNING:torch.distributed.elastic.multiprocessing.api:Sending process 811 closing signal SIGTERM\n"
    fault, _, severity = first(asked + STORE.format(raised) + LEFT)
    assert (fault, severity) == ("unknown", "warning")


def test_a_rank_that_raised_first_is_named_and_not_the_start_that_failed_after_it(first):
    raised = "[rank1]: Traceback (most recent call last):\n[rank1]:   File \"/w/train.py\", line 20, in <module>\n[rank1]:     build()\n[rank1]: KeyError: 'hidden'\n"
    assert first(raised + WAITED.format(0))[0] == "software.crash"


def test_who_gave_up_is_not_accused_and_the_rank_that_was_waited_for_is_told(explain, tmp_path):
    (tmp_path / "job.log").write_text("".join(map(WAITED.format, (3, 1, 2))))
    diagnosis = explain(tmp_path)
    cause = diagnosis.document()["root_cause"]["hypotheses"][0]
    assert (cause["fault"], cause["entity"]["type"]) == ("software.init_failed", "job")
    assert any("what rank 0 did so long" in one for one in diagnosis.found.missing)


def test_attempts_to_connect_that_were_retried_are_no_fault(first):
    text = (
        "[W1118 10:00:00.123456789 socket.cpp:601] [c10d] The IPv6 network addresses of (node-9, 29500) cannot be retrieved (gai error: -2 - Name or service not known).\n"
        "[W1118 10:00:01.123456789 socket.cpp:697] [c10d] The client socket has failed to connect to [node-9]:29500 (errno: 111 - Connection refused).\n"
    )
    assert first(text + STEPS)[2] in ("", "info")
    assert first(text)[2] in ("", "info")


def test_ports_without_a_name_are_down_until_every_process_has_its_own_again(first):
    down = ports("node-3", "Got async event : port error")
    active = ports("node-3", "Got async event : port active")
    assert first(STEPS + down + active[: active.index("\n") + 1])[:2] == (
        "network.nic_down",
        "node-3",
    )
    assert first(STEPS + down + active + STEPS)[2] in ("", "info")


def test_a_line_without_a_time_that_steps_follow_is_not_the_end(first):
    refused = "torch.distributed.DistNetworkError: The client socket has timed out after 300000ms while trying to connect to (node-9, 41331).\n"
    assert first(refused + STEPS)[2] in ("", "info")


ENDED = (
    "[rank{0}]:[E104 21:33:05.112204817 ProcessGroupNCCL.cpp:2057] [PG ID 0 PG GUID 0(default_pg) Rank {0}] Process group watchdog thread terminated with exception: NCCL error: remote process exited or there was a network error, NCCL version 2.27.5\n"
    "[rank{0}]: Last error:\n[rank{0}]: {1}\n"
)


@pytest.mark.parametrize(
    "error",
    [
        "NET/IB: Got completion from peer 10.0.0.3<53393> with status=12 opcode=0 len=0 vendor err 129 (Send) hca mlx5_2",
        "socketStartConnect: Connect to 10.0.0.3<53393> failed : Connection timed out",
    ],
)
def test_ranks_whose_peer_did_not_answer_are_not_the_ones_that_failed(first, error):
    told = STEPS + ENDED.format(3, error) + ENDED.format(5, error)
    assert first(told)[0] == "unknown"
    down = ports("node-3", "Got async event : port error", "mlx5_2:1 ")
    assert first(STEPS + down + told.removeprefix(STEPS))[:2] == ("network.nic_down", "node-3")
