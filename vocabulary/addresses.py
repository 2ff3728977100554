"""Where a probe finds its agent: one rule, followed by both sides."""

import os
from collections.abc import Mapping
from pathlib import Path

SOCKET = "probe.sock"
UDP_PORT = 8471


def socket_paths(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the places of the agent's Unix socket, first choice first.

    The agent binds the first whose folder it may use; the probe sends to the first that is there.
    """
    folders = [Path("/run/rankscope")]
    if runtime := environ.get("XDG_RUNTIME_DIR"):
        folders.append(Path(runtime) / "rankscope")
    folders.append(Path(f"/tmp/rankscope-{os.getuid()}"))  # noqa: S108  the last resort
    return tuple(folder / SOCKET for folder in folders)


def agent_address(environ: Mapping[str, str]) -> tuple[str, tuple[Path, ...] | tuple[str, int]]:
    """Return ("unix", paths to try) or ("udp", (host, port)) as RANKSCOPE_AGENT says.

    Raises ValueError, naming the variable, when it is neither `unix://PATH` nor `udp://HOST:PORT`.
    """
    setting = environ.get("RANKSCOPE_AGENT", "")
    if not setting:
        return "unix", socket_paths(environ)
    scheme, _, rest = setting.partition("://")
    if scheme == "unix" and rest.startswith("/"):
        return "unix", (Path(rest),)
    if scheme == "udp" and rest:
        host, colon, port = rest.rpartition(":")
        if not colon:
            return "udp", (rest, UDP_PORT)
        if host and port.isdigit() and 0 < int(port) < 65536:
            return "udp", (host.strip("[]"), int(port))
    raise ValueError(f"RANKSCOPE_AGENT={setting!r}: write unix:///PATH or udp://HOST:{UDP_PORT}")
