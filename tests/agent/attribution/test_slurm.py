import os
import subprocess
import sys

import pytest

from rankscope.agent.attribution import slurm


def test_the_job_of_a_real_process_is_in_its_environment():
    process = subprocess.Popen(
        [sys.executable, "-c", "print(flush=True); input()"],
        env={**os.environ, "SLURM_JOB_ID": "4711_3"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.readline()
    assert slurm.job_of(process.pid) == "4711_3"
    process.communicate(b"\n")


@pytest.mark.parametrize(
    "environ", ["", "PATH=/bin\0NOT_SLURM_JOB_ID=5\0", 'SLURM_JOB_ID=4"} 1\n\0', "SLURM_JOB_ID="]
)
def test_an_environment_without_a_job_or_with_an_odd_one_gives_none(tmp_path, environ):
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "environ").write_text(environ)
    assert slurm.job_of(7, tmp_path) == ""
    assert slurm.job_of(8, tmp_path) == ""


def test_job_files_are_read_by_index_and_instance(tmp_path):
    (tmp_path / "0").write_text("4711\n4712\n")
    (tmp_path / "1.7").write_text(" 4713 \n\n")
    (tmp_path / "2").write_text("")
    (tmp_path / "README").write_text("not a device")
    (tmp_path / "3").mkdir()
    (tmp_path / "4").write_text('odd "job"\n4714\n')
    assert slurm.job_files(tmp_path) == {
        "0": ("4711", "4712"),
        "1.7": ("4713",),
        "2": (),
        "4": ("4714",),
    }
