"""A kubelet's pod-resources socket: a real gRPC server that reports which container holds what.

Service v1.PodResourcesLister with List, Get and GetAllocatableResources (KEP-606, KEP-1884). The
messages are few and are written here byte by byte, so that no generated code is needed. grpcio is a
development dependency: nothing that an installed package runs imports this module.
"""

import socket
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent import futures
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import grpc

SERVICE = "v1.PodResourcesLister"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A device that came by dynamic resource allocation."""

    driver: str
    pool: str
    device: str
    claim: str = "claim"
    cdi: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A container and what it was given: resource name to device ids, and claims."""

    name: str
    devices: Mapping[str, Sequence[str]]
    claims: Sequence[Claim] = ()
    numa: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A pod as the kubelet lists it."""

    name: str
    namespace: str = "default"
    containers: Sequence[Container] = ()


def training_pod(name: str, devices: Iterable[str], *, resource: str = "nvidia.com/gpu") -> Pod:
    """Return a pod of one container that holds these devices."""
    container = Container(name="train", devices={resource: tuple(devices)})
    return Pod(name=name, namespace="ml", containers=(container,))


class Kubelet:
    """Serves what it is given on a Unix socket; may be slow, refuse, go away and come back."""

    def __init__(
        self, path: Path, pods: Sequence[Pod] = (), *, allocatable: Mapping[str, Sequence[str]] = {}
    ) -> None:
        self.path = path
        self.pods: Sequence[Pod] = pods
        """What is listed from the next call on."""
        self.allocatable = allocatable
        self.calls = 0
        """How many calls came in, answered or not."""
        self.refusal: grpc.StatusCode | None = None
        """When set, every call fails with it."""
        self.answer: bytes | None = None
        """When set, these bytes are the message, whatever they mean."""
        self._slow = 0.0
        self._hurry = threading.Event()
        self._server: grpc.Server | None = None

    def start(self) -> None:
        """Listen; a socket file that a dead kubelet left is replaced, as the real one does."""
        if self._server is not None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.unlink(missing_ok=True)
        self._hurry.clear()
        methods = {
            "List": self._handler(self._list),
            "Get": self._handler(self._get),
            "GetAllocatableResources": self._handler(self._devices),
        }
        pool = futures.ThreadPoolExecutor(max_workers=4, thread_name_prefix="kubelet")
        self._server = grpc.server(pool, options=[("grpc.max_send_message_length", -1)])
        self._server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(SERVICE, methods),)
        )
        self._server.add_insecure_port(f"unix:{self.path}")
        self._server.start()

    def stop(self) -> None:
        """Go away; the socket's file goes, too."""
        self._hurry.set()
        if self._server is not None:
            self._server.stop(grace=None).wait()
            self._server = None
        self.path.unlink(missing_ok=True)

    def die(self) -> None:
        """Go away and leave the socket's file behind, as a kubelet that was killed does."""
        self.stop()
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(self.path))

    def be_slow(self, seconds: float) -> None:
        """Answer each call so much later from now on; 0 ends it, for the waiting ones, too."""
        self._slow = seconds
        if seconds:
            self._hurry.clear()
        else:
            self._hurry.set()

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self.stop()

    def _handler(
        self, answer: Callable[[bytes], bytes | None]
    ) -> "grpc.RpcMethodHandler[bytes, bytes]":
        def serve(request: bytes, context: grpc.ServicerContext) -> bytes:
            self.calls += 1
            if self._slow:
                self._hurry.wait(self._slow)
            if self.refusal is not None:
                context.abort(self.refusal, "told to refuse")
            message = self.answer if self.answer is not None else answer(request)
            if message is None:
                context.abort(grpc.StatusCode.NOT_FOUND, "no such pod")
                raise AssertionError  # abort has raised
            return message

        return grpc.unary_unary_rpc_method_handler(serve)

    def _list(self, _: bytes) -> bytes:
        return b"".join(_field(1, _pod(pod)) for pod in self.pods)

    def _get(self, request: bytes) -> bytes | None:
        for pod in self.pods:
            if request == _text(1, pod.name) + _text(2, pod.namespace):
                return _field(1, _pod(pod))
        return None

    def _devices(self, _: bytes) -> bytes:
        return b"".join(
            _field(1, _container_devices(resource, ids, None))
            for resource, ids in self.allocatable.items()
        )


# -- the messages: protobuf's wire format, every field of length and bytes but for numbers --------


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _text(number: int, text: str) -> bytes:
    return _field(number, text.encode()) if text else b""


def _container_devices(resource: str, ids: Sequence[str], numa: int | None) -> bytes:
    said = _text(1, resource) + b"".join(_text(2, device) for device in ids)
    if numa is not None:
        node = _varint(1 << 3) + _varint(numa) if numa else b""  # a zero is not written
        said += _field(3, _field(1, node))
    return said


def _claim(claim: Claim, namespace: str) -> bytes:
    resource = b"".join(_field(1, _text(1, name)) for name in claim.cdi)
    resource += _text(2, claim.driver) + _text(3, claim.pool) + _text(4, claim.device)
    return _text(2, claim.claim) + _text(3, namespace) + _field(4, resource)


def _pod(pod: Pod) -> bytes:
    said = _text(1, pod.name) + _text(2, pod.namespace)
    for container in pod.containers:
        body = _text(1, container.name)
        # The kubelet writes one entry a device, since each may sit on another NUMA node.
        for resource, ids in container.devices.items():
            for device in ids:
                body += _field(2, _container_devices(resource, [device], container.numa))
        body += b"".join(_field(5, _claim(claim, pod.namespace)) for claim in container.claims)
        said += _field(3, body)
    return said
