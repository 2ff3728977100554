"""The kubelet's double is a real gRPC server: a stock client reads it, and it fails as one does."""

import tempfile
import threading
from pathlib import Path

import grpc
import pytest
from tests.agent.kubelet import Claim, Container, Kubelet, Pod, training_pod

PODS = [
    training_pod("job-0", ["GPU-a", "GPU-b"]),
    Pod(
        name="job-1",
        namespace="ml",
        containers=(
            Container(name="side", devices={}),
            Container(
                name="train",
                devices={"nvidia.com/mig-1g.10gb": ["MIG-c"], "rdma/hca": ["mlx5_0"]},
                claims=[
                    Claim(
                        driver="gpu.nvidia.com", pool="n1", device="gpu-3", cdi=["nvidia.com/gpu=3"]
                    )
                ],
                numa=1,
            ),
        ),
    ),
]


@pytest.fixture
def kubelet():
    # A socket's path may have 107 letters; pytest's folders are long.
    with tempfile.TemporaryDirectory(prefix="rs") as folder:
        kubelet = Kubelet(Path(folder) / "kubelet.sock", PODS)
        kubelet.start()
        yield kubelet
        kubelet.stop()


def call(kubelet, method="List", request=b"", timeout=60.0):
    """Ask as any client does: bytes in, bytes out.

    Channels of one process share connections, and so the wait after a refused one: not this one.
    """
    apart = [("grpc.use_local_subchannel_pool", 1)]
    with grpc.insecure_channel(f"unix:{kubelet.path}", options=apart) as channel:
        ask = channel.unary_unary(f"/v1.PodResourcesLister/{method}")
        return ask(request, timeout=timeout, wait_for_ready=False)


def fields(data):
    """Return the (number, value) pairs of a message; values are bytes or ints."""
    at, found = 0, []

    def varint():
        nonlocal at
        shift = number = 0
        while True:
            byte = data[at]
            at += 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            found.append((tag >> 3, varint()))
        else:
            assert tag & 7 == 2
            size = varint()
            found.append((tag >> 3, data[at : at + size]))
            at += size
    return found


def of(message, number):
    return [value for field, value in fields(message) if field == number]


def test_a_stock_client_reads_pods_containers_and_devices(kubelet):
    pods = of(call(kubelet), 1)
    assert [of(pod, 1) for pod in pods] == [[b"job-0"], [b"job-1"]]
    assert of(pods[0], 2) == [b"ml"]
    (train,) = of(pods[0], 3)
    devices = of(train, 2)
    assert [(of(one, 1), of(one, 2)) for one in devices] == [
        ([b"nvidia.com/gpu"], [b"GPU-a"]),
        ([b"nvidia.com/gpu"], [b"GPU-b"]),
    ]


def test_numa_nodes_and_claims_are_told(kubelet):
    (_, pod) = of(call(kubelet), 1)
    (_, train) = of(pod, 3)
    (topology,) = of(of(train, 2)[0], 3)
    assert fields(of(topology, 1)[0]) == [(1, 1)]
    (dynamic,) = of(train, 5)
    assert of(dynamic, 2) == [b"claim"]
    (resource,) = of(dynamic, 4)
    assert (of(resource, 2), of(resource, 4)) == ([b"gpu.nvidia.com"], [b"gpu-3"])
    assert of(of(resource, 1)[0], 1) == [b"nvidia.com/gpu=3"]


def test_pods_change_under_a_running_kubelet(kubelet):
    kubelet.pods = [training_pod(f"job-{number}", [f"GPU-{number}"]) for number in range(500)]
    assert len(of(call(kubelet), 1)) == 500
    kubelet.pods = []
    assert call(kubelet) == b""


def test_allocatable_devices_and_single_pods_are_told(kubelet):
    kubelet.allocatable = {"nvidia.com/gpu": ["GPU-a", "GPU-b"]}
    (devices,) = of(call(kubelet, "GetAllocatableResources"), 1)
    assert of(devices, 2) == [b"GPU-a", b"GPU-b"]
    (pod,) = of(call(kubelet, "Get", b"\n\x05job-0\x12\x02ml"), 1)
    assert of(pod, 1) == [b"job-0"]
    with pytest.raises(grpc.RpcError) as refused:
        call(kubelet, "Get", b"\n\x05job-9\x12\x02ml")
    assert refused.value.code() == grpc.StatusCode.NOT_FOUND


def test_a_kubelet_goes_away_and_returns(kubelet):
    kubelet.stop()
    assert not kubelet.path.exists()
    with pytest.raises(grpc.RpcError) as refused:
        call(kubelet)
    assert refused.value.code() == grpc.StatusCode.UNAVAILABLE
    kubelet.start()
    assert len(of(call(kubelet), 1)) == 2


def test_a_killed_kubelet_leaves_its_socket_and_the_next_one_takes_it_over(kubelet):
    kubelet.die()
    assert kubelet.path.is_socket()
    with pytest.raises(grpc.RpcError) as refused:
        call(kubelet)
    assert refused.value.code() == grpc.StatusCode.UNAVAILABLE
    kubelet.start()
    assert len(of(call(kubelet), 1)) == 2


def test_a_slow_kubelet_lets_a_deadline_pass_and_then_answers(kubelet):
    kubelet.be_slow(60)
    with pytest.raises(grpc.RpcError) as late:
        call(kubelet, timeout=0.2)
    assert late.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    answers = []
    waiting = threading.Thread(target=lambda: answers.append(call(kubelet, timeout=60)))
    before = kubelet.calls
    waiting.start()
    while kubelet.calls == before:
        waiting.join(timeout=0.01)
    kubelet.be_slow(0)
    waiting.join(timeout=60)
    assert len(of(answers[0], 1)) == 2


def test_a_kubelet_may_refuse_or_talk_nonsense(kubelet):
    kubelet.refusal = grpc.StatusCode.PERMISSION_DENIED
    with pytest.raises(grpc.RpcError) as refused:
        call(kubelet)
    assert refused.value.code() == grpc.StatusCode.PERMISSION_DENIED
    kubelet.refusal = None
    kubelet.answer = b"\xff\xff<html>"
    assert call(kubelet) == b"\xff\xff<html>"


def test_nothing_stays_behind(kubelet):
    kubelet.stop()
    kubelet.stop()
    assert list(kubelet.path.parent.iterdir()) == []
