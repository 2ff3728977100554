"""What a message costs beside its samples: HTTP, measured on a collector of its own process."""

import http.client
import sys
import tempfile
import time
from pathlib import Path

import psutil

from rankscope.lab.demo.processes import DemoProcesses
from rankscope.lab.demo.stage import clean_environment, free_port

from ..budgets.pool import PreparedRequest
from ..budgets.remote_write import cpu, until_ready
from ..budgets.stream import SampleStream

MESSAGES = 1_500
_WARM = 100


def measured(a_sample: float) -> float:
    """Return the CPU seconds of a message of one host; `a_sample`: those of a sample, taken off."""
    (body,) = SampleStream(hosts=1, hosts_a_request=1).round(time.time())
    prepared = PreparedRequest.of(body)
    with tempfile.TemporaryDirectory(prefix="rankscope-capacity-") as name:
        folder = Path(name)
        address = f"127.0.0.1:{free_port()}"
        environ = {
            **clean_environment(),
            "RANKSCOPE_DATA_DIR": str(folder / "data"),
            "RANKSCOPE_HTTP__LISTEN": address,
        }
        with DemoProcesses(folder) as processes:
            process = processes.start(
                "collector", [sys.executable, "-m", "rankscope.cli.main", "collector"],
                environ=environ,
            )  # fmt: skip
            until_ready(f"http://{address}/readyz")
            connection = http.client.HTTPConnection(address, timeout=60)
            watched = psutil.Process(process.handle.pid)
            before = 0.0
            for number in range(_WARM + MESSAGES):
                if number == _WARM:
                    before = cpu(watched)
                headers = {"Content-Type": "application/x-protobuf"}
                connection.request(
                    "POST", "/v1/metrics", prepared.later(number, time.time()), headers
                )
                answer = connection.getresponse()
                answer.read()
                if answer.status != http.client.OK:
                    raise RuntimeError(f"the collector answered {answer.status}")
            used = cpu(watched) - before
            connection.close()
    return max(used / MESSAGES - prepared.points * a_sample, 0.0)
