"""The agent's claim on its Unix socket: one agent a socket, and no file left over in its way."""

import contextlib
import fcntl
import os
import socket
from collections.abc import Mapping
from pathlib import Path

from ..vocabulary import addresses

_LONGEST = 107
"""Bytes a Unix socket's path may have on Linux: sun_path is 108 with its closing zero."""
_ELSEWHERE = "set probe.socket (RANKSCOPE_PROBE__SOCKET) to a path that this user may make"


class ClaimError(Exception):
    """The socket cannot be had; the text says why and what to do."""


class SocketClaim:
    """A bound datagram socket, a lock beside it, and the duty to take both away at the end.

    The lock (`probe.sock.lock`) decides who serves the socket: it falls with its holder, so a
    socket file whose lock can be had is a leftover and is replaced.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        encoded = os.fsencode(path)
        if len(encoded) > _LONGEST:
            raise ClaimError(
                f"{path}: {len(encoded)} bytes are more than the {_LONGEST} a socket's path may "
                "have; set probe.socket to a shorter one"
            )
        self._lock = _locked(path)
        try:
            self.socket = _bound(path)
            self._inode = path.stat().st_ino
        except OSError as error:
            os.close(self._lock)
            raise ClaimError(f"{path}: {error.strerror or error}; {_ELSEWHERE}") from error

    def release(self) -> None:
        """Close the socket and remove its file; the lock file stays, unlocked."""
        self.socket.close()
        try:
            if self.path.stat().st_ino == self._inode:
                self.path.unlink()
        except OSError:
            pass  # someone tidied up before us
        os.close(self._lock)


def claim(override: Path | None, environ: Mapping[str, str]) -> SocketClaim:
    """Return the claim on the socket asked for, else on the first place that may be used.

    Raises ClaimError when another agent is there, or when no place can be had.
    """
    if override is not None:
        problem = _prepared(override.parent)
        if problem:
            raise ClaimError(f"{override}: {problem}; {_ELSEWHERE}")
        return SocketClaim(override)
    refusals = []
    for path in addresses.socket_paths(environ):
        problem = _prepared(path.parent)
        if not problem:
            return SocketClaim(path)
        refusals.append(f"{path}: {problem}")
    raise ClaimError(f"no place for the socket of the probes: {'; '.join(refusals)}; {_ELSEWHERE}")


def _prepared(folder: Path) -> str:
    """Make the folder; return "" when it may be used, else why not."""
    try:
        if not folder.is_dir():
            folder.mkdir(parents=True, mode=0o755, exist_ok=True)
            folder.chmod(0o755)  # jobs of other users must reach the socket whatever our umask is
        status = folder.lstat()
    except OSError as error:
        return error.strerror or str(error)
    # In a folder of someone else's, that someone could replace the socket under our name.
    if status.st_uid not in (os.getuid(), 0):
        return f"the folder belongs to user {status.st_uid}"
    if not os.access(folder, os.W_OK | os.X_OK):
        return "the folder may not be written"
    return ""


def _locked(path: Path) -> int:
    name = path.with_name(path.name + ".lock")
    try:
        lock = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        # Whoever may read it may hold the lock, and keep the next agent from starting.
        with contextlib.suppress(PermissionError):  # some file systems have no modes
            os.fchmod(lock, 0o600)
    except OSError as error:
        raise ClaimError(f"{name}: {error.strerror or error}; {_ELSEWHERE}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        holder = os.read(lock, 32).decode(errors="replace").strip()
        os.close(lock)
        who = f"another agent (pid {holder})" if holder.isdecimal() else "another agent"
        raise ClaimError(
            f"{who} already serves {path}; stop it, or give this one a probe.socket of its own"
        ) from None
    os.ftruncate(lock, 0)
    os.write(lock, f"{os.getpid()}\n".encode())
    return lock


def _bound(path: Path) -> socket.socket:
    if path.exists() or path.is_symlink():
        if not path.is_socket():
            raise FileExistsError(17, "a file that is not a socket stands there")
        path.unlink()
    opened = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        opened.setblocking(False)
        # Who sends is what the kernel says, not what a tenant's process claims.
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        opened.bind(str(path))
        path.chmod(0o666)
    except BaseException:
        opened.close()
        raise
    return opened
