"""What a storm in the kernel log costs: lines a second of one XID, another code in it now and then.

A process of its own writes records into a FIFO at an even pace; the reader of the agent follows it
here. Reads of /dev/kmsg cost one call a record more than a FIFO's.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rankscope.agent.device_faults import FaultTracker
from rankscope.agent.health import AgentHealth
from rankscope.agent.readers.kernel_log import KernelLogReader
from rankscope.vocabulary.samples import Event

_PER_SECOND = 1_000_000 // 60
_WRITER = """
import os, sys, time
path, per_second, seconds, varied = sys.argv[1], *map(int, sys.argv[2:5])
fd, number, started = os.open(path, os.O_WRONLY), 0, time.monotonic()

def record(text):
    global number
    number += 1
    stamp = time.monotonic_ns() // 1000
    return b"4,%d,%d,-;NVRM: Xid (PCI:0000:05:00): %s\\n" % (number, stamp, text)

for turn in range(100 * seconds):
    lines = [
        record(b"95, pid=%d, name=python3, Uncontained: LTC TAG (0x2,0x1)" % (varied * number))
        for _ in range(per_second // 100)
    ]
    if turn % 50 == 0:
        lines.append(record(b"%d, pid=1, name=x, at %f" % (200 + turn // 50, time.time())))
    os.write(fd, b"".join(lines))
    time.sleep(max(0.0, started + (turn + 1) / 100 - time.monotonic()))
"""


def measure(seconds: float) -> dict[str, Any]:
    """Return CPU shares and delays of a storm of equal lines, and of lines that differ."""
    return {
        "lines_per_second": _PER_SECOND,
        "equal_lines": _storm(max(1, round(seconds)), varied=False),
        "lines_of_different_processes": _storm(max(1, round(seconds)), varied=True),
    }


def _storm(seconds: int, *, varied: bool) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kmsg"
        os.mkfifo(path)
        health, delays, taken = AgentHealth(), [], 0
        fault_tracker = FaultTracker(boot_id="bench", now=time.time())

        def take(event: Event) -> None:
            nonlocal taken
            now = time.time()
            taken += fault_tracker.take(event, now) is not None
            written = str(event.attributes["text"]).rpartition(" at ")[2]
            if event.attributes["code"] != "95":
                delays.append(now - float(written))

        reader = KernelLogReader(
            path=path, emit=take, health=health, period=5.0, state=Path(folder), boot_id="bench"
        )
        reader.read(time.time())
        used, started = time.process_time(), time.monotonic()
        writer = [sys.executable, "-c", _WRITER, str(path)]
        subprocess.run(
            [*writer, str(_PER_SECOND), str(seconds), str(int(varied))], check=True, timeout=600
        )
        lines = seconds * 100 * (_PER_SECOND // 100) + seconds * 2
        while health.counted("kernel_log_lines") < lines:
            time.sleep(0.01)
        share = (time.process_time() - used) / (time.monotonic() - started)
        reader.close()
    delays.sort()
    return {
        "lines": lines,
        "lost": int(health.counted("kernel_log_lost")),
        "cpu_share_of_a_core": round(share, 4),
        "events": taken,
        "different_codes_in_the_storm": seconds * 2,
        "different_codes_told": len(delays),
        "delay_seconds_p50": round(delays[len(delays) // 2], 5),
        "delay_seconds_p99": round(delays[int(0.99 * len(delays))], 5),
    }


if __name__ == "__main__":
    print(json.dumps(measure(float(sys.argv[1]) if len(sys.argv) > 1 else 10.0), indent=2))
