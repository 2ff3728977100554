"""Anybody can run a command on a node of GPUs that are not there."""

import os
import signal
import subprocess
import sys

import pytest

NODE = [sys.executable, "-m", "rankscope.lab.node"]
COUNT = "import pynvml as n; n.nvmlInit(); print(n.nvmlDeviceGetCount(), n.nvmlDeviceGetName({}))"
NAMES = COUNT.format("n.nvmlDeviceGetHandleByIndex(1)")


@pytest.fixture(autouse=True)
def _compiler(program):
    program("gcc")


def run(*words):
    return subprocess.run([*NODE, *words], capture_output=True, text=True, timeout=60, check=False)


def test_a_command_sees_the_gpus_that_were_asked_for(tmp_path):
    asked = ["--gpus", "2", "--profile", "A100", "--folder", str(tmp_path)]
    done = run(*asked, "--", sys.executable, "-c", NAMES)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "2 NVIDIA A100-SXM4-80GB\n"
    assert str(tmp_path / "nvml.scenario") in done.stderr
    assert "gpu1.uuid = GPU-" in (tmp_path / "nvml.scenario").read_text()


def test_the_commands_exit_code_is_ours(tmp_path):
    assert run("--", sys.executable, "-c", "raise SystemExit(7)").returncode == 7
    killed = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    assert run("--", sys.executable, "-c", killed).returncode == 128 + signal.SIGKILL
    assert run("--", "no-such-command").returncode == 127


@pytest.mark.parametrize(
    ("words", "said"), [((), "no command"), (("--profile", "V9000", "--", "true"), "H100")]
)
def test_wrong_use_says_what_is_right(words, said):
    done = run(*words)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_line_added_to_the_file_takes_effect_and_a_signal_reaches_the_command(tmp_path):
    program = (
        "import pynvml as n, time; n.nvmlInit(); h = n.nvmlDeviceGetHandleByIndex(0)\n"
        "print(n.nvmlDeviceGetTemperature(h, 0), flush=True)\n"
        "while n.nvmlDeviceGetTemperature(h, 0) != 99: time.sleep(0.005)\n"
        "print(99, flush=True)\n"
        "time.sleep(60)\n"
    )
    node = subprocess.Popen(
        [*NODE, "--gpus", "1", "--folder", str(tmp_path), "--", sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert node.stdout
    with node.stdout:
        assert node.stdout.readline() == "58\n"
        with (tmp_path / "nvml.scenario").open("a") as file:
            file.write("gpu0.temperature_c = 99\n")
        assert node.stdout.readline() == "99\n"
        os.kill(node.pid, signal.SIGTERM)
        assert node.wait(timeout=60) == 128 + signal.SIGTERM
