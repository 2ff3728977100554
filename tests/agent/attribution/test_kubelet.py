import socket
import threading
from collections.abc import Callable
from pathlib import Path

import grpc
import pytest
from tests.agent.kubelet import Claim, Container, Pod

from rankscope.agent.attribution import pod_resources
from rankscope.agent.attribution.kubelet import KubeletError, ask
from rankscope.agent.attribution.pod_resources import AllocatedDevice
from rankscope.formats import wire

GPU = ("nvidia.com/gpu", "nvidia.com/mig-*")


def pod(*containers: bytes) -> bytes:
    """Return a list of one pod as the kubelet writes it."""
    inner = b"".join(wire.block(3, container) for container in containers)
    return wire.block(1, wire.block(1, b"p") + wire.block(2, b"ml") + inner)


def container(*fields: bytes) -> bytes:
    return wire.block(1, b"c") + b"".join(fields)


def devices(resource: str, *ids: str) -> bytes:
    names = b"".join(wire.block(2, each.encode()) for each in ids)
    return wire.block(2, wire.block(1, resource.encode()) + names)


def test_five_hundred_pods_are_read_and_only_accelerators_kept(kubelet):
    kubelet.pods = [
        Pod(
            name=f"pod-{number}",
            namespace="ml",
            containers=(
                Container(name="sidecar", devices={"hugepages": ["1"]}),
                Container(name="train", devices={"nvidia.com/gpu": [f"GPU-{number}"]}, numa=1),
            ),
        )
        for number in range(500)
    ]
    found = pod_resources.decode(ask(kubelet.path), resources=GPU)
    assert [
        AllocatedDevice("ml", f"pod-{number}", "train", "nvidia.com/gpu", f"GPU-{number}")
        for number in range(500)
    ] == found


def test_an_answer_of_megabytes_comes_whole(kubelet):
    names = [f"GPU-{number:08d}" for number in range(100_000)]
    kubelet.answer = pod(container(devices("nvidia.com/gpu", *names)))
    data = ask(kubelet.path)
    assert len(data) > 1 << 20
    found = pod_resources.decode(data, resources=GPU)
    assert [one.device for one in found] == names


def test_a_list_without_pods_is_an_answer(kubelet):
    assert ask(kubelet.path) == b""
    assert pod_resources.decode(b"", resources=GPU) == []


def test_mig_resources_are_known_by_how_they_begin():
    data = pod(container(devices("nvidia.com/mig-1g.10gb", "MIG-1")))
    assert [one.device for one in pod_resources.decode(data, resources=GPU)] == ["MIG-1"]
    assert pod_resources.decode(data, resources=("nvidia.com/gpu",)) == []


def test_dynamic_resources_are_kept_by_their_driver(kubelet):
    claim = Claim(driver="gpu.nvidia.com", pool="node-1", device="gpu-0", cdi=["k8s.gpu=GPU-1"])
    kubelet.pods = [
        Pod(name="p", namespace="ml", containers=[Container(name="c", devices={}, claims=[claim])])
    ]
    data = ask(kubelet.path)
    expected = [AllocatedDevice("ml", "p", "c", "gpu.nvidia.com", "gpu-0", ("k8s.gpu=GPU-1",))]
    assert pod_resources.decode(data, resources=GPU, drivers=("gpu.nvidia.com",)) == expected
    assert pod_resources.decode(data, resources=("gpu.nvidia.com",)) == []


def test_fields_of_later_versions_are_stepped_over():
    later = wire.block(90, b"new") + wire.tag(91, wire.VARINT) + wire.varint(7)
    data = later + pod(container(later, devices("nvidia.com/gpu", "GPU-1")), later)
    (found,) = pod_resources.decode(data, resources=GPU)
    assert found == AllocatedDevice("ml", "p", "c", "nvidia.com/gpu", "GPU-1")


@pytest.mark.parametrize(
    "data",
    [
        b"\xff" * 40,
        b"<html>no</html>",
        pod()[:-2],
        wire.tag(1, wire.VARINT) + b"\x01",
        wire.block(1, wire.tag(1, wire.VARINT) + b"\x01"),
    ],
)
def test_what_is_no_list_is_refused(data):
    with pytest.raises(wire.WireError):
        pod_resources.decode(data, resources=GPU)


def test_a_missing_socket_says_what_to_mount(tmp_path):
    with pytest.raises(KubeletError, match="mount the folder") as raised:
        ask(tmp_path / "none.sock")
    assert raised.value.reason == "missing"


def test_a_socket_that_a_dead_kubelet_left_is_no_kubelet(kubelet):
    kubelet.die()
    with pytest.raises(KubeletError, match="refused") as raised:
        ask(kubelet.path)
    assert raised.value.reason == "connection"


def test_a_refusal_is_told_with_the_kubelets_own_words(kubelet):
    kubelet.refusal = grpc.StatusCode.RESOURCE_EXHAUSTED
    with pytest.raises(KubeletError, match="gRPC status 8: told to refuse") as raised:
        ask(kubelet.path)
    assert raised.value.reason == "status"


def test_a_list_beyond_the_limit_is_given_up(kubelet):
    kubelet.answer = bytes(100_000)
    with pytest.raises(KubeletError, match="longer than 50000 bytes") as raised:
        ask(kubelet.path, max_bytes=50_000)
    assert raised.value.reason == "too_large"
    assert len(ask(kubelet.path, max_bytes=100_000)) == 100_000


def test_a_kubelet_that_does_not_answer_is_left_at_the_deadline(kubelet):
    kubelet.be_slow(30.0)
    with pytest.raises(KubeletError) as raised:  # it answers well after 30 s
        ask(kubelet.path, deadline_seconds=0.3)
    assert raised.value.reason == "deadline"


@pytest.fixture
def impostor(folder):
    """Serve one connection after the other by a function of the accepted socket."""
    stop = threading.Event()
    listener = socket.socket(socket.AF_UNIX)
    threads: list[threading.Thread] = []

    def serve(speak: Callable[[socket.socket, threading.Event], None]) -> Path:
        path: Path = folder / "impostor.sock"
        listener.bind(str(path))
        listener.listen()

        def run() -> None:
            line, _ = listener.accept()
            with line:
                line.settimeout(60)
                line.recv(1024)
                speak(line, stop)

        threads.append(threading.Thread(target=run))
        threads[-1].start()
        return path

    yield serve
    stop.set()
    for thread in threads:
        thread.join(60)
    listener.close()


def drip(line: socket.socket, stop: threading.Event) -> None:
    settings = b"\0\0\0\4\0\0\0\0\0"
    while not stop.is_set():
        for byte in settings:
            try:
                line.send(bytes((byte,)))
            except OSError:
                return
            stop.wait(0.02)


def test_an_answer_that_drips_byte_by_byte_meets_the_deadline_too(impostor):
    with pytest.raises(KubeletError) as raised:
        ask(impostor(drip), deadline_seconds=0.5)
    assert raised.value.reason == "deadline"


@pytest.mark.parametrize(
    ("spoken", "reason"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "protocol"),
        (b"\0" * 200, "protocol"),
        (b"", "connection"),
        (b"\0\0\0\4\0\0\0\0\0", "connection"),
        (b"\0\0\x08\7\0\0\0\0\0" + b"\0\0\0\1\0\0\0\2", "status"),  # GOAWAY
        (b"\0\0\4\3\0\0\0\0\1" + b"\0\0\0\7", "status"),  # RST_STREAM
    ],
)
def test_whatever_else_listens_there_is_named(impostor, spoken, reason):
    path = impostor(lambda line, _: line.sendall(spoken) if spoken else None)
    with pytest.raises(KubeletError) as raised:
        ask(path, deadline_seconds=3.0)
    assert raised.value.reason == reason
