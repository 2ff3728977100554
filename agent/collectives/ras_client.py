"""One question to NCCL's RAS service: a text protocol, a line a command, an answer until the end.

NCCL 2.24 and 2.25 have text alone; JSON is there from 2.28.7 on. A server that does not know the
format is asked for text.
"""

import re
import socket
import time
from dataclasses import dataclass
from typing import Literal

DEFAULT_ADDRESS = "localhost:28028"
PROTOCOL = 2
_LINE = 4096
_SERVER = re.compile(r"SERVER PROTOCOL (\d{1,6})")

Reason = Literal["refused", "timeout", "protocol", "torn", "too_large"]


class RasUnavailableError(Exception):
    """There is no whole answer; `reason` is a label, the text says what happened."""

    def __init__(self, reason: Reason, text: str) -> None:
        super().__init__(text)
        self.reason: Reason = reason


@dataclass(frozen=True, slots=True)
class RasAnswer:
    """What the service answered to VERBOSE STATUS, and how long it took, in seconds."""

    text: str
    form: Literal["json", "text"]
    seconds: float


def ask(address: str, *, timeout: float, max_bytes: int) -> RasAnswer:
    """Ask for the state of the whole job. Raises RasUnavailableError.

    timeout: seconds for everything; the service is told to give up a little earlier itself.
    """
    began = time.monotonic()
    connection = _RasConnection(address, began + timeout, max_bytes)
    try:
        form = connection.agree(max(1, int(timeout) - 1))
        if form == "closed":  # by the word that it does not know
            connection.close()
            connection = _RasConnection(address, began + timeout, max_bytes)
            form = connection.agree(0)
        text = connection.status()
    except TimeoutError as error:
        raise RasUnavailableError("timeout", f"no whole answer in {timeout:g} s") from error
    except OSError as error:
        raise RasUnavailableError("torn", f"the connection broke: {error}") from error
    finally:
        connection.close()
    return RasAnswer(text, "json" if form == "json" else "text", time.monotonic() - began)


class _RasConnection:
    def __init__(self, address: str, until: float, max_bytes: int) -> None:
        self._until = until
        self._max_bytes = max_bytes
        self._rest = b""
        host, _, port = address.rpartition(":")
        try:
            self._socket = socket.create_connection(
                (host.strip("[]") or "localhost", int(port)), timeout=self._left()
            )
        except TimeoutError as error:
            raise RasUnavailableError("timeout", f"{address} does not answer") from error
        except (OSError, ValueError, OverflowError) as error:
            raise RasUnavailableError("refused", f"{address}: {error}") from error

    def agree(self, timeout: int) -> Literal["json", "text", "closed"]:
        """Greet; set the server's own time-out and JSON, where it has them and `timeout` > 0."""
        greeting = self._command(f"CLIENT PROTOCOL {PROTOCOL}")
        if not _SERVER.match(greeting):
            raise RasUnavailableError("protocol", f"no RAS service: it says {greeting[:80]!r}")
        if timeout <= 0:
            return "text"
        self._command(f"TIMEOUT {timeout}")
        try:
            reply = self._command("SET FORMAT json")
        except (RasUnavailableError, ConnectionError):
            return "closed"
        return "json" if reply == "OK" else "text"

    def status(self) -> str:
        """Return the answer, which ends with the connection."""
        self._send("VERBOSE STATUS")
        found = [self._rest]
        count = len(self._rest)
        while data := self._receive():
            count += len(data)
            if count > self._max_bytes:
                raise RasUnavailableError("too_large", f"more than {self._max_bytes} bytes")
            found.append(data)
        text = b"".join(found).decode("utf-8", "replace")
        if text.startswith("ERROR"):
            raise RasUnavailableError("protocol", text[:200].strip())
        return text

    def close(self) -> None:
        self._socket.close()

    def _command(self, line: str) -> str:
        self._send(line)
        while b"\n" not in self._rest:
            data = self._receive()
            if not data:
                raise RasUnavailableError("torn", f"closed after {line}")
            self._rest += data
            if len(self._rest) > _LINE:
                raise RasUnavailableError("protocol", f"no line answers {line}")
        reply, _, self._rest = self._rest.partition(b"\n")
        return reply.decode("utf-8", "replace").strip()

    def _send(self, line: str) -> None:
        self._socket.settimeout(self._left())
        self._socket.sendall(line.encode() + b"\n")

    def _receive(self) -> bytes:
        self._socket.settimeout(self._left())
        return self._socket.recv(1 << 16)

    def _left(self) -> float:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left
