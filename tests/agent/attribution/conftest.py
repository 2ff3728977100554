"""A kubelet that really speaks gRPC, and processes in a tree like /proc."""

import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from dataclasses import dataclass, field
from pathlib import Path

import grpc
import pytest

from rankscope.formats import wire


def pod(namespace: str, name: str, *containers: bytes) -> bytes:
    inner = b"".join(wire.block(3, container) for container in containers)
    return wire.block(1, wire.block(1, name.encode()) + wire.block(2, namespace.encode()) + inner)


def container(name: str, *fields: bytes) -> bytes:
    return wire.block(1, name.encode()) + b"".join(fields)


def devices(resource: str, *ids: str) -> bytes:
    topology = wire.block(3, wire.block(1, wire.tag(1, wire.VARINT) + wire.varint(1)))
    names = b"".join(wire.block(2, each.encode()) for each in ids)
    return wire.block(2, wire.block(1, resource.encode()) + names + topology)


def claim(driver: str, device: str, *cdi: str) -> bytes:
    named = b"".join(wire.block(1, wire.block(1, each.encode())) for each in cdi)
    resource = named + wire.block(2, driver.encode()) + wire.block(3, b"node-1")
    resource += wire.block(4, device.encode())
    texts = wire.block(2, b"one-gpu") + wire.block(3, b"ml")
    return wire.block(5, texts + wire.block(4, resource))


@dataclass
class Kubelet:
    """Answers List with bytes, late or with an error if told so."""

    path: Path
    answer: bytes = b""
    refusal: tuple[grpc.StatusCode, str] | None = None
    hold: threading.Event = field(default_factory=threading.Event)
    asked: int = 0
    _server: grpc.Server | None = None

    def open(self) -> None:
        self.hold.set()
        server = grpc.server(futures.ThreadPoolExecutor(4))
        server.add_generic_rpc_handlers((_Lister(self),))
        server.add_insecure_port(f"unix:{self.path}")
        server.start()
        self._server = server

    def close(self) -> None:
        self.hold.set()
        if self._server:
            self._server.stop(None).wait()
            self._server = None
        self.path.unlink(missing_ok=True)

    def list(self, _: bytes, context: grpc.ServicerContext) -> bytes:
        self.asked += 1
        self.hold.wait(30)
        if self.refusal:
            context.abort(*self.refusal)
        return self.answer


class _Lister(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpc ships no types
    def __init__(self, kubelet: Kubelet) -> None:
        self._kubelet = kubelet

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        if details.method == "/v1.PodResourcesLister/List":
            return grpc.unary_unary_rpc_method_handler(self._kubelet.list)
        return None


@pytest.fixture
def kubelet(folder: Path) -> Iterator[Kubelet]:
    one = Kubelet(folder / "kubelet.sock")
    one.open()
    yield one
    one.close()


@pytest.fixture
def proc(tmp_path: Path) -> Callable[..., Path]:
    """Put a process below a root that stands for /proc; return the root."""
    root = tmp_path / "proc"

    def process(pid: int, *, cgroup: str = "0::/", environ: str = "", started: int = 1) -> Path:
        at = root / str(pid)
        at.mkdir(parents=True, exist_ok=True)
        fields = ["S", *["0"] * 18, str(started), *["0"] * 30]
        (at / "stat").write_text(f"{pid} (python) {' '.join(fields)}\n")
        (at / "cgroup").write_text(cgroup + "\n")
        (at / "environ").write_text(environ)
        return root

    root.mkdir()
    return process
