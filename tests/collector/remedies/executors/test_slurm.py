"""Slurm's executor against a Slurm of this machine: three nodes, real jobs, real drains."""

import getpass
import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest
from tests.waiting import until as wait_for

from rankscope.collector.remedies.executors import slurm as slurm_orders
from rankscope.collector.remedies.executors.contract import (
    RefusedOrderError,
    UnansweredOrderError,
)
from rankscope.collector.settings.actions import ExecutorSettings
from rankscope.vocabulary.clock import SystemClock

pytestmark = pytest.mark.programs

CONFIGURATION = """
ClusterName=lab
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
AuthType=auth/none
CredType=cred/none
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/ctl
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/ctl.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/ctl.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
ReturnToService=2
JobRequeue=1
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
NodeName=gpu-1 NodeHostname=localhost NodeAddr=127.0.0.1 Port={ports[0]} CPUs=1 State=UNKNOWN
NodeName=gpu-2 NodeHostname=localhost NodeAddr=127.0.0.1 Port={ports[1]} CPUs=1 State=UNKNOWN
NodeName=gpu-3 NodeHostname=localhost NodeAddr=127.0.0.1 Port={ports[2]} CPUs=1 State=UNKNOWN
PartitionName=all Nodes=gpu-[1-3] Default=YES MaxTime=INFINITE State=UP
"""


def free_ports(count):
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


@pytest.fixture(scope="module")
def slurm(program, tmp_path_factory):
    """Run a controller and three nodes; return a function that runs one of Slurm's programs."""
    controller, node = program("slurmctld"), program("slurmd")
    folder = tmp_path_factory.mktemp("slurm")
    for name in ("ctl", "gpu-1", "gpu-2", "gpu-3"):
        (folder / name).mkdir()
    ports = free_ports(4)
    configuration = folder / "slurm.conf"
    configuration.write_text(
        CONFIGURATION.format(
            folder=folder,
            user=getpass.getuser(),
            port=ports[0],
            ports=ports[1:],
            host=socket.gethostname(),
        )
    )
    environ = {**os.environ, "SLURM_CONF": str(configuration)}
    running = [subprocess.Popen([controller, "-D", "-i"], env=environ, cwd=folder)]
    running += [
        subprocess.Popen([node, "-D", "-N", f"gpu-{number}"], env=environ, cwd=folder)
        for number in (1, 2, 3)
    ]

    def run(*command):
        ended = subprocess.run(
            command, env=environ, cwd=folder, capture_output=True, text=True, check=False
        )
        return ended.stdout

    saved = os.environ.get("SLURM_CONF")
    os.environ["SLURM_CONF"] = str(configuration)
    wait_for(lambda: run("sinfo", "-h", "-t", "idle", "-o", "%D").strip() == "3")
    yield run
    for line in run("squeue", "-h", "-o", "%i").split():
        run("scancel", line)
    wait_for(lambda: not run("squeue", "-h").strip())
    for one in reversed(running):  # they hold nothing any more, and take ten seconds to end well
        one.kill()
        one.wait(20)
    if saved is None:
        del os.environ["SLURM_CONF"]
    else:
        os.environ["SLURM_CONF"] = saved


@pytest.fixture
def executor():
    return slurm_orders.executor(
        ExecutorSettings(kind="slurm", scontrol=Path(shutil.which("scontrol") or "")),
        SystemClock(),
    )


@pytest.fixture
def job(slurm, tmp_path):
    """Return the id of a job that runs on gpu-1 and gpu-2."""
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\n#SBATCH -N 2\n#SBATCH -w gpu-1,gpu-2\nsleep 600\n")
    made = slurm("sbatch", "--parsable", "-o", "/dev/null", str(script)).strip()
    assert made, "sbatch gave no job id"
    wait_for(lambda: state_of(slurm, made) == "RUNNING")
    yield made
    slurm("scancel", made)
    for number in (1, 2, 3):
        slurm("scontrol", "update", f"NodeName=gpu-{number}", "State=RESUME")
    wait_for(lambda: slurm("sinfo", "-h", "-t", "idle", "-o", "%D").strip() == "3")


def state_of(slurm, job):
    return field_of(slurm("scontrol", "show", "-o", "job", job), "JobState")


def field_of(text, name):
    return next((row.partition("=")[2] for row in text.split() if row.startswith(f"{name}=")), "")


def node_of(slurm, name="gpu-1"):
    return slurm("scontrol", "show", "-o", "node", name)


def test_a_node_is_drained_and_its_job_requeued_without_it(slurm, job, executor, order_of, allowed):
    order = order_of(job=job)
    seen = executor.look(order)
    assert ("RUNNING", 0, "gpu-1") == (seen["job_state"], seen["restarts"], seen["node"])
    text = executor.carry_out(order, seen, allowed)
    assert f"gpu-1 is drained; job {job} was requeued" == text
    assert "DRAIN" in field_of(node_of(slurm), "State")
    assert "Reason=rankscope action ab12: gpu.lost" in node_of(slurm)
    shown = slurm("scontrol", "show", "-o", "job", job)
    assert "1" == field_of(shown, "Restarts")
    # The same order once more, after a crash: nothing is done again.
    before = allowed.count
    executor.carry_out(order, seen, allowed)
    assert before == allowed.count
    assert "1" == field_of(slurm("scontrol", "show", "-o", "job", job), "Restarts")
    assert "gpu-1 is back" == executor.undo(order, seen, allowed)
    assert "DRAIN" not in field_of(node_of(slurm), "State")


def test_a_node_that_a_person_drained_stays_theirs(slurm, job, executor, order_of, allowed):
    slurm("scontrol", "update", "NodeName=gpu-1", "State=DRAIN", "Reason=ann: new fan")
    order = order_of(job=job)
    seen = executor.look(order)
    assert executor.carry_out(order, seen, allowed).startswith("gpu-1 was drained already")
    assert "was not drained by this action" in executor.undo(order, seen, allowed)
    assert "Reason=ann: new fan" in node_of(slurm)


def test_a_job_that_ended_meanwhile_is_left_alone(slurm, job, executor, order_of, allowed):
    order = order_of(job=job)
    seen = executor.look(order)
    slurm("scancel", job)
    wait_for(lambda: state_of(slurm, job) == "CANCELLED")
    assert f"gpu-1 is drained; job {job} is CANCELLED by now" == executor.carry_out(
        order, seen, allowed
    )
    with pytest.raises(RefusedOrderError, match="CANCELLED"):
        executor.look(order_of("requeue", job=job))


def test_a_pause_suspends_and_its_undo_resumes(slurm, job, executor, order_of, allowed):
    order = order_of("pause", job=job)
    seen = executor.look(order)
    executor.carry_out(order, seen, allowed)
    assert "SUSPENDED" == state_of(slurm, job)
    executor.carry_out(order, seen, allowed)
    executor.undo(order, seen, allowed)
    assert "RUNNING" == state_of(slurm, job)


def test_names_that_slurm_does_not_have_are_refused(slurm, executor, order_of):
    with pytest.raises(RefusedOrderError, match="Slurm has no node gpu-9"):
        executor.look(order_of(host="gpu-9"))
    with pytest.raises(RefusedOrderError, match="no job id of Slurm"):
        executor.look(order_of("requeue", job="llama"))
    with pytest.raises(RefusedOrderError, match="is no name of a node"):
        executor.look(order_of(host="gpu-1 State=RESUME"))
    with pytest.raises(RefusedOrderError, match="not there"):
        executor.look(order_of("requeue", job="999999"))


def test_a_longer_host_name_is_its_node(slurm, executor, order_of):
    assert "gpu-1" == executor.look(order_of(host="gpu-1.cluster.example"))["node"]


def test_a_scontrol_that_is_not_there_is_asked_again(order_of):
    settings = ExecutorSettings(kind="slurm", scontrol=Path("/nowhere/scontrol"))
    with pytest.raises(UnansweredOrderError, match="/nowhere/scontrol"):
        slurm_orders.executor(settings, SystemClock()).look(order_of())
