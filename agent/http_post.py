"""One kept-alive connection over HTTP/1.1 that posts: what a push needs of HTTP, and no more.

The standard library's client takes a third of a millisecond for each answer, most of it for headers
that nobody reads, and holds 4 MB of parsers. Raises OSError, or HttpAnswerError for what is no
answer.
"""

import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl

_MOST_HEAD = 64 << 10
_MOST_BODY = 16 << 20
_PIECE = 64 << 10
_WITHOUT_BODY = frozenset({204, 304})


class HttpAnswerError(Exception):
    """What came back is no answer in HTTP/1.1."""


class ClosedError(HttpAnswerError):
    """The other side closed the connection before it answered anything."""


@dataclass(slots=True)
class HttpAnswer:
    """A status, headers by their names in small letters, and the body."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    closes: bool = False
    """The connection takes no more requests."""


class HttpConnection:
    """Open from the constructor to `close`; for one thread."""

    def __init__(
        self, host: str, port: int, *, timeout: float, tls: "ssl.SSLContext | None" = None
    ) -> None:
        named = f"[{host}]" if ":" in host else host
        usual = 443 if tls else 80
        self._host = named if port == usual else f"{named}:{port}"
        self._socket = socket.create_connection((host, port), timeout=timeout)
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if tls is not None:
                self._socket = tls.wrap_socket(self._socket, server_hostname=host)
        except BaseException:
            self._socket.close()
            raise
        self._data = b""

    def post(self, path: str, body: bytes, headers: str) -> HttpAnswer:
        """Send a body and return the answer; `headers` are whole lines."""
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {self._host}\r\nAccept-Encoding: identity\r\n"
            f"{headers}Content-Length: {len(body)}\r\n\r\n"
        )
        self._socket.sendall(head.encode("latin-1") + body)
        answer = self._head()
        while 100 <= answer.status < 200:
            answer = self._head()
        self._read_body(answer)
        return answer

    def close(self) -> None:
        """Close it."""
        self._socket.close()

    def _head(self) -> HttpAnswer:
        while (end := self._data.find(b"\r\n\r\n")) < 0:
            if len(self._data) > _MOST_HEAD:
                raise HttpAnswerError("a head without an end")
            self._more()
        first, *lines = self._data[:end].decode("latin-1").split("\r\n")
        self._data = self._data[end + 4 :]
        version, _, rest = first.partition(" ")
        code = rest[:3]
        if not version.startswith("HTTP/1.") or not code.isdecimal():
            raise HttpAnswerError("not an answer in HTTP/1.1")
        headers: dict[str, str] = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        asked = headers.get("connection", "").lower()
        closes = "close" in asked or (version == "HTTP/1.0" and "keep-alive" not in asked)
        return HttpAnswer(int(code), headers, closes=closes)

    def _read_body(self, answer: HttpAnswer) -> None:
        length = answer.headers.get("content-length", "")
        if answer.status in _WITHOUT_BODY:
            return
        if "chunked" in answer.headers.get("transfer-encoding", "").lower():
            answer.body = self._chunks()
        elif length.isdecimal():
            answer.body = self._bytes(int(length))
        else:
            answer.closes = True
            answer.body = self._rest()

    def _chunks(self) -> bytes:
        found: list[bytes] = []
        size = 0
        while True:
            text = self._line().partition(b";")[0].strip()
            try:
                count = int(text, 16)
            except ValueError:
                raise HttpAnswerError("a chunk without a length") from None
            if count == 0:
                while self._line():
                    pass  # trailers
                return b"".join(found)
            size += count
            if count < 0 or size > _MOST_BODY:
                raise HttpAnswerError("an answer beyond measure")
            found.append(self._bytes(count))
            self._line()

    def _line(self) -> bytes:
        while (end := self._data.find(b"\r\n")) < 0:
            if len(self._data) > _MOST_HEAD:
                raise HttpAnswerError("a line without an end")
            self._more()
        line, self._data = self._data[:end], self._data[end + 2 :]
        return line

    def _bytes(self, count: int) -> bytes:
        if count > _MOST_BODY:
            raise HttpAnswerError("an answer beyond measure")
        while len(self._data) < count:
            self._more()
        found, self._data = self._data[:count], self._data[count:]
        return found

    def _rest(self) -> bytes:
        while len(self._data) <= _MOST_BODY:
            piece = self._socket.recv(_PIECE)
            if not piece:
                break
            self._data += piece
        found, self._data = self._data[:_MOST_BODY], b""
        return found

    def _more(self) -> None:
        piece = self._socket.recv(_PIECE)
        if not piece:
            if not self._data:
                raise ClosedError("the connection was closed without an answer")
            raise HttpAnswerError("the answer broke off")
        self._data += piece


def tls_context(ca_file: Path | None) -> "ssl.SSLContext":
    """Return what checks a collector's certificate. Raises OSError for a file that is none."""
    import ssl  # noqa: PLC0415  2 MB that an agent without TLS does not need

    return ssl.create_default_context(cafile=str(ca_file) if ca_file else None)


def header_lines(headers: Mapping[str, str]) -> str:
    """Return headers as they are sent. Raises ValueError for what no header can hold."""
    lines = [f"{name}: {value.strip()}" for name, value in headers.items()]
    if not all(line.isprintable() and line.isascii() for line in lines):
        raise ValueError("a header that is no line of ASCII")
    return "".join(f"{line}\r\n" for line in lines)
