"""One page over HTTP: kept-alive, unpacked, and with a deadline over the whole of it."""

import contextlib
import http.client
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

_PIECE = 64 << 10
_HEADERS = {
    "Accept": "text/plain;version=0.0.4,*/*;q=0.1",
    "Accept-Encoding": "gzip",
    "User-Agent": "rankscope-agent",
}


class FetchError(Exception):
    """The page could not be had; `reason` is one word for counting, the text says why."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


class PageClient:
    """A kept-alive connection to one URL. Proxies of the environment are not used.

    Socket time-outs cover one packet; an exporter that sends a byte a second would hold us for
    ever. The connection is therefore cut off at the deadline by a timer.
    """

    def __init__(self, url: str, *, timeout: float, ca_file: Path | None = None) -> None:
        parts = urlsplit(url)
        self._host = parts.hostname or ""
        self._port = parts.port
        self._path = parts.path or "/metrics"
        if parts.query:
            self._path += f"?{parts.query}"
        self._timeout = timeout
        self._context: ssl.SSLContext | None = None
        if parts.scheme == "https":
            self._context = ssl.create_default_context(cafile=str(ca_file) if ca_file else None)
        self._connection: http.client.HTTPConnection | None = None
        self._overdue = False

    def pieces(self) -> Iterator[bytes]:
        """Yield the page in pieces, unpacked.

        Raises FetchError, also in the middle. Whoever stops in the middle must call `close`.
        """
        kept = self._connection is not None
        self._overdue = False
        timer = threading.Timer(self._timeout, self._cut)
        timer.daemon = True
        timer.start()
        began = time.monotonic()
        try:
            try:
                response = self._ask()
            except (http.client.RemoteDisconnected, ConnectionError, BrokenPipeError):
                # A kept connection may have been closed since: that is no failure, once.
                if not kept or self._overdue:
                    raise
                self.close()
                response = self._ask()
            yield from self._body(response)
            if self._overdue:
                raise TimeoutError  # a connection cut off by us looks like the end of a page
        except (OSError, http.client.HTTPException, zlib.error) as error:
            self.close()
            raise self._failure(error, time.monotonic() - began) from error
        finally:
            timer.cancel()

    def close(self) -> None:
        """Close the connection; the next page opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _ask(self) -> http.client.HTTPResponse:
        if self._connection is None:
            if self._context is None:
                self._connection = http.client.HTTPConnection(
                    self._host, self._port, timeout=self._timeout
                )
            else:
                self._connection = http.client.HTTPSConnection(
                    self._host, self._port, timeout=self._timeout, context=self._context
                )
        self._connection.request("GET", self._path, headers=_HEADERS)
        response = self._connection.getresponse()
        if response.status != 200:
            self.close()
            moved = f" to {response.headers['Location']}" if response.headers["Location"] else ""
            raise FetchError(
                f"http_{response.status}",
                f"HTTP {response.status} {response.reason}{moved}; check the URL",
            )
        return response

    def _body(self, response: http.client.HTTPResponse) -> Iterator[bytes]:
        encoding = response.headers.get("Content-Encoding", "").lower()
        unpack = zlib.decompressobj(wbits=31) if encoding == "gzip" else None
        with response:  # closed in any case: else the connection takes no other request
            while piece := response.read1(_PIECE):
                if self._overdue:  # what closes after each answer hides its socket from `_cut`
                    raise TimeoutError
                if unpack is None:
                    yield piece
                    continue
                while piece:  # a small packet may unpack to gigabytes: it comes in pieces too
                    yield unpack.decompress(piece, _PIECE)
                    piece = unpack.unconsumed_tail
            if unpack is not None and not unpack.eof:
                raise http.client.IncompleteRead(b"")
            if response.length:
                raise http.client.IncompleteRead(b"", response.length)
        if response.will_close:
            self.close()

    def _cut(self) -> None:
        """Wake whoever waits for the exporter: the time is up. On the timer's thread."""
        self._overdue = True
        connection = self._connection
        sock = connection.sock if connection is not None else None
        if sock is not None:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def _failure(self, error: Exception, took: float) -> FetchError:
        if self._overdue or isinstance(error, TimeoutError):
            return FetchError("timeout", f"no whole answer within {took:.1f} s")
        if isinstance(error, ConnectionRefusedError):
            return FetchError("refused", "nothing listens there; is the exporter running?")
        if isinstance(error, socket.gaierror):
            return FetchError("name", f"the host's name is not known: {error}")
        if isinstance(error, ssl.SSLError):
            return FetchError("tls", f"{error}; set exporters.ca_file if the authority is your own")
        if isinstance(error, http.client.IncompleteRead):
            return FetchError("cut", "the answer broke off")
        return FetchError("connection", f"{type(error).__name__}: {error}")
