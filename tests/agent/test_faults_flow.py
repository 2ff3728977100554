"""From a line of the kernel log to the collector's intake, the page and the list of faults."""

import json
import os
import time
import urllib.request

import pytest


@pytest.fixture
def kernel(folder):
    """Stand in for /dev/kmsg: a function that logs lines."""
    path = folder / "kmsg"
    os.mkfifo(path)
    number = 0

    def log(*texts: str) -> None:
        nonlocal number
        with path.open("ab", buffering=0) as file:
            for text in texts:
                number += 1
                stamp = int(time.clock_gettime(time.CLOCK_MONOTONIC) * 1e6)
                file.write(f"4,{number},{stamp},-;{text}\n".encode())

    log.path = str(path)  # type: ignore[attr-defined]
    return log


def page(agent, name: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{agent.port}/{name}") as answer:
        return str(answer.read(), "utf-8")


def test_an_xid_of_a_trainer_leaves_at_once_with_its_rank_its_class_and_what_to_do(
    run_agent, intake, trainer, until, kernel
):
    agent = run_agent(push={"endpoint": intake.endpoint}, kernel_log={"path": kernel.path})
    process = trainer(agent.socket_path, "step(1)\nsys.stdin.read()", rank=3)
    until(lambda: intake.points("training.step"))
    text = f"NVRM: Xid (PCI:0000:05:00): 95, pid={process.pid}, name=python3, Uncontained"
    kernel(*[text] * 200)
    until(lambda: intake.events("gpu.fault"))
    resource, said = intake.events("gpu.fault")[0]
    assert ("job-1", 3, "95", "fatal", "RESET_GPU", "kmsg") == (
        resource["rankscope.job.id"],
        *(said[key] for key in ("rank", "code", "class", "action", "source")),
    )
    until(lambda: agent.health.counted("kernel_log_lines") == 200)
    assert 1 == len(intake.events("gpu.fault"))
    told = json.loads(page(agent, "faults"))
    assert [("pci:0000:05:00.0", "95")] == [(one["hw.id"], one["code"]) for one in told["open"]]
    pairs = 'host_name="node-1",{}hw_id="pci:0000:05:00.0"'
    for line in (  # how many a storm had, its minute's summary says
        "hw_gpu_faults_total{" + pairs.format('code="95",') + "} 1.0",
        "hw_status{" + pairs.format("") + ',hw_state="failed"} 1.0',
    ):
        until(lambda line=line: line in page(agent, "metrics"))


def test_verdicts_and_counts_outlive_the_agent(run_agent, until, kernel, folder):
    node = {"host": "node-1", "state": str(folder / "kept")}
    first = run_agent(kernel_log={"path": kernel.path}, node=node)
    kernel("NVRM: Xid (PCI:0000:05:00): 79, pid=1, GPU has fallen off the bus.")
    until(lambda: json.loads(page(first, "faults"))["open"])
    until((folder / "kept" / "device_faults.json").exists)
    first.stop()
    again = run_agent(node=node)
    assert ["79"] == [one["code"] for one in json.loads(page(again, "faults"))["open"]]


def test_bad_overrides_stop_the_start_with_file_row_and_fix(run_agent, folder):
    path = folder / "site.toml"
    path.write_text('[[fault]]\ncodes = "79"\nclass = "very bad"\n')
    with pytest.raises(Exception, match=r"faults\.overrides.*site\.toml, row 1: class 'very bad'"):
        run_agent(faults={"overrides": str(path)})
