"""A /dev/shm of a host's own: a small tmpfs that only the host's processes see.

A mount namespace is held open by a process; whoever is started through the words that `mount`
returns is in it. It is gone with its last process, and the machine's own /dev/shm is not touched.
"""

import shutil
import sys
import time

from .processes import DemoProcesses
from .unsupported import InjectionUnsupportedError

_HOLD = (
    "mount --make-rprivate / && mount -t tmpfs -o size={size}m rankscope-lab /dev/shm "
    "&& echo mounted && exec {python} -c '{wait}'"
)
_WAIT = "import os, time\nstarter = os.getppid()\nwhile os.getppid() == starter: time.sleep(0.5)"
_SECONDS = 10.0


def mount(processes: DemoProcesses, host: str, size_mib: int) -> tuple[str, ...]:
    """Mount one; return the words before a command that run it there.

    Raises InjectionUnsupportedError.
    """
    for tool in ("unshare", "nsenter", "mount"):
        if shutil.which(tool) is None:
            raise InjectionUnsupportedError(
                f"a private /dev/shm needs the program {tool} (util-linux)"
            )
    script = _HOLD.format(size=size_mib, python=sys.executable, wait=_WAIT)
    holder = processes.start(
        f"shm-{host}",
        ["unshare", "--mount", "sh", "-c", script],
        environ={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin"},
    )
    deadline = time.monotonic() + _SECONDS
    while "mounted" not in (output := holder.log.read_text(errors="replace")):
        if holder.ended is not None or time.monotonic() > deadline:
            reason = output.strip().splitlines()[-1:] or ["no answer"]
            raise InjectionUnsupportedError(
                f"a private /dev/shm needs the right to mount (CAP_SYS_ADMIN): {reason[0]}"
            )
        time.sleep(0.05)
    return ("nsenter", f"--mount=/proc/{holder.handle.pid}/ns/mnt")
