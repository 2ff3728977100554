"""Run the live cluster and a Prometheus over it until Ctrl-C: python -m bench.live."""

import argparse
import contextlib
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from rankscope.lab.demo.processes import DemoProcesses

from .cluster import LiveCluster
from .prometheus import PrometheusServer


def main() -> int:
    """Start everything, heat a device, print the addresses, stay."""
    parser = argparse.ArgumentParser(prog="python -m bench.live", description=__doc__)
    parser.add_argument("--onset", type=float, default=60.0, help="seconds until a GPU is hot")
    parser.add_argument("--seconds", type=float, default=1800.0, help="how long the job runs")
    parser.add_argument("--rules", type=Path, nargs="*", default=[], help="rule files")
    parser.add_argument("--break-things", action="store_true", help="rarer faults too, after it")
    wanted = parser.parse_args()
    program = shutil.which("prometheus")
    if program is None:
        parser.error("prometheus is not installed: apt-get install prometheus")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends as Ctrl-C does
    with tempfile.TemporaryDirectory(prefix="rs-", dir="/tmp") as name:
        folder = Path(name)
        with DemoProcesses(folder) as processes, contextlib.suppress(KeyboardInterrupt):
            cluster = LiveCluster(folder, processes, onset=wanted.onset)
            cluster.start(seconds=wanted.seconds)
            server = PrometheusServer(
                program,
                folder / "prometheus",
                processes,
                targets=cluster.targets,
                rules=wanted.rules,
            )
            print(f"collector {cluster.address}\nprometheus {server.address}", flush=True)
            for node in cluster.nodes:
                print(f"agent {node.name} http://127.0.0.1:{node.port}/metrics", flush=True)
            cluster.heat()
            print(f"GPU {cluster.hot[1]} of {cluster.hot[0]} is hot", flush=True)
            if wanted.break_things:
                cluster.break_things()
                print("a port, a link and a device are lost, a memory error is there", flush=True)
            while True:
                time.sleep(1.0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
