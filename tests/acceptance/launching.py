"""torchrun as people start it: once a host, two ranks each."""

import sys

from rankscope.lab.demo.stage import clean_environment, free_port
from rankscope.lab.jobs import orders


def torchrun(processes, hosts, folder, job):
    """Start a job of the laboratory; its orders are in the folder."""
    port = free_port()
    for number, host in enumerate(hosts):
        environ = {
            **clean_environment(),
            "RANKSCOPE_JOB_ID": job,
            "RANKSCOPE_AGENT": f"unix://{folder / host.name}.sock",
            orders.VARIABLE: str(folder / "orders.json"),
            "OMP_NUM_THREADS": "1",
        }
        command = [sys.executable, "-m", "torch.distributed.run", f"--nnodes={len(hosts)}"]
        command += [f"--node-rank={number}", "--nproc-per-node=2", "--master-addr=127.0.0.1"]
        command += [f"--master-port={port}", "-m", "rankscope.lab.jobs.torch_trainer"]
        processes.start(f"torchrun-{number}", command, environ=environ, host=host)
