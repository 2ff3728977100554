"""`rankscope demo --collector`: what is wrong with its words is said before anything starts."""

import subprocess
import sys

import pytest


def demo(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rankscope.cli.main", "demo", *words],
        text=True,
        capture_output=True,
        check=False,
    )


@pytest.mark.parametrize("listen", ["9471", "host:", "host:x"])
def test_an_address_without_a_port_is_named(listen: str):
    done = demo("--collector", "http://127.0.0.1:1", "--listen", listen)
    assert 2 == done.returncode
    assert f"{listen} is not HOST:PORT" in done.stderr


def test_a_token_file_that_is_not_there_is_named(tmp_path):
    missing = tmp_path / "token"
    done = demo("--collector", "http://127.0.0.1:1", "--token-file", str(missing))
    assert 2 == done.returncode
    assert f"cannot read {missing}" in done.stderr
