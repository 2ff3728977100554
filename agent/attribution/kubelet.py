"""The kubelet's pod-resources API: which container holds which device, asked over its Unix socket.

One call is one connection: HTTP/2 by h2, the few messages decoded by hand (see pod_resources.py and
docs/decisions/0007). h2 is loaded at the first call, so a node without a kubelet never pays for it.
Reference: KEP-606, service v1.PodResourcesLister, method List.
"""

import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from h2.connection import H2Connection
    from h2.events import Event

SOCKET = Path("/var/lib/kubelet/pod-resources/kubelet.sock")
_METHOD = b"/v1.PodResourcesLister/List"
_EMPTY_MESSAGE = b"\0\0\0\0\0"  # not compressed, no bytes: the request has no fields
_FRAME_HEAD = 5
_CHUNK = 65536


class KubeletError(Exception):
    """The kubelet gave no list; `reason` is one word for a counter, the text says what to do."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


def ask(path: Path, *, deadline_seconds: float = 5.0, max_bytes: int = 16 << 20) -> bytes:
    """Return the bytes of a ListPodResourcesResponse; raises KubeletError.

    The deadline is for the whole call, however slowly the answer drips.
    """
    until = time.monotonic() + deadline_seconds
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.settimeout(deadline_seconds)
            line.connect(str(path))
            return _message(_converse(line, until, max_bytes), max_bytes)
    except FileNotFoundError as error:
        raise KubeletError(
            "missing",
            f"there is no socket {path}: mount the folder {path.parent} of the host, or set "
            "attribution.kubelet_socket",
        ) from error
    except PermissionError as error:
        raise KubeletError(
            "permission", f"{path} may not be opened: run the agent as user 0"
        ) from error
    except TimeoutError as error:
        raise KubeletError(
            "deadline", f"{path} did not answer within {deadline_seconds:g} s"
        ) from error
    except OSError as error:
        raise KubeletError("connection", f"{path}: {error.strerror or error}") from error


def _converse(line: socket.socket, until: float, max_bytes: int) -> bytes:
    """Send the request, return the body of the answer once its trailers say that all is well."""
    import h2.config  # noqa: PLC0415  1 MiB that only nodes with a kubelet pay
    import h2.connection  # noqa: PLC0415
    import h2.exceptions  # noqa: PLC0415
    import h2.settings  # noqa: PLC0415

    talk = h2.connection.H2Connection(
        h2.config.H2Configuration(client_side=True, header_encoding=None)
    )
    talk.initiate_connection()
    # Windows as wide as the answer may be: no round trips for flow control.
    room = max_bytes + _CHUNK
    talk.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: room})
    talk.increment_flow_control_window(room)
    talk.send_headers(
        1,
        [
            (b":method", b"POST"),
            (b":scheme", b"http"),
            (b":path", _METHOD),
            (b":authority", b"localhost"),
            (b"content-type", b"application/grpc"),
            (b"te", b"trailers"),
        ],
    )
    talk.send_data(1, _EMPTY_MESSAGE, end_stream=True)
    answer = _StreamAnswer(max_bytes)
    try:
        while not answer.ended:
            _send(line, talk)
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError
            line.settimeout(left)
            data = line.recv(_CHUNK)
            if not data:
                raise KubeletError("connection", "the kubelet hung up in the middle of its answer")
            if data.startswith(b"HTTP/1"):  # to h2 it is the head of a large frame
                raise KubeletError("protocol", "what answers there is HTTP/1, not gRPC")
            answer.take(talk.receive_data(data))
    except h2.exceptions.ProtocolError as error:
        raise KubeletError(
            "protocol", f"what answers there is not HTTP/2: {error or type(error).__name__}"
        ) from error
    return b"".join(answer.body)


def _send(line: socket.socket, talk: "H2Connection") -> None:
    waiting = talk.data_to_send()
    if waiting:
        line.sendall(waiting)


class _StreamAnswer:
    """What came of the one stream there is."""

    def __init__(self, max_bytes: int) -> None:
        self.body: list[bytes] = []
        self.ended = False
        self._room = max_bytes + _FRAME_HEAD
        self._max_bytes = max_bytes
        self._status: bytes | None = None

    def take(self, events: "Sequence[Event]") -> None:
        """Take events of the connection; raises KubeletError on all that is no good answer."""
        import h2.events  # noqa: PLC0415  loaded by now

        for event in events:
            if isinstance(event, h2.events.ResponseReceived | h2.events.TrailersReceived):
                self._read(dict(event.headers or ()))
            elif isinstance(event, h2.events.DataReceived):
                data = event.data or b""
                self._room -= len(data)
                if self._room < 0:
                    raise KubeletError(
                        "too_large", f"the kubelet's list is longer than {self._max_bytes} bytes"
                    )
                self.body.append(data)
            elif isinstance(event, h2.events.StreamEnded):
                if self._status != b"0":
                    raise KubeletError("status", "the kubelet's answer ended without a status")
                self.ended = True
            elif isinstance(event, h2.events.StreamReset | h2.events.ConnectionTerminated):
                code = event.error_code
                raise KubeletError("status", f"the kubelet refused the call, HTTP/2 error {code}")

    def _read(self, headers: dict[bytes, bytes]) -> None:
        http = headers.get(b":status", b"200")
        if http != b"200":
            raise KubeletError("status", f"the kubelet answered HTTP {http.decode('latin-1')}")
        self._status = headers.get(b"grpc-status", self._status)
        if self._status not in (None, b"0"):
            why = unquote(headers.get(b"grpc-message", b"").decode("latin-1"))
            raise KubeletError(
                "status",
                f"the kubelet refused, gRPC status {self._status.decode('latin-1')}: {why}",
            )


def _message(body: bytes, max_bytes: int) -> bytes:
    if len(body) < _FRAME_HEAD or int.from_bytes(body[1:5], "big") != len(body) - _FRAME_HEAD:
        raise KubeletError("protocol", f"a gRPC answer of {len(body)} bytes holds no whole message")
    if body[0]:
        raise KubeletError("protocol", "the kubelet compressed its answer though nobody asked")
    if len(body) - _FRAME_HEAD > max_bytes:
        raise KubeletError("too_large", f"the kubelet's list is longer than {max_bytes} bytes")
    return body[_FRAME_HEAD:]
