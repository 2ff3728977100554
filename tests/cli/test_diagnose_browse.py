"""`rankscope diagnose --browse`: what was found, in the console, until somebody ends it."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest

from rankscope.cli.main import main

LOG = """\
 [2026-05-13 12:00:10] iteration 1/ 5 | elapsed time per iteration (ms): 10000.0 | lm loss: 2.4 |
 [2026-05-13 12:00:20] iteration 2/ 5 | elapsed time per iteration (ms): 10000.0 | lm loss: 2.2 |
[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.
"""


class BrowsedDiagnosis:
    """A running verb: the document that it printed, and the address that it said."""

    def __init__(self, process: "subprocess.Popen[str]", folder: Path) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self.process = process
        self.folder = folder
        self.printed = json.loads(process.stdout.readline())
        said = iter(process.stderr.readline, "")
        self.page = next(line.strip() for line in said if line.startswith("http"))
        self.address = self.page.partition("/#/")[0]

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"{self.address}/{path}", timeout=10) as answer:
            body = answer.read().decode()
        return json.loads(body) if path.startswith("api/") else body

    def refused(self, path: str, body: bytes = b"{}") -> int:
        """Return the status of an error for what is sent."""
        asked = urllib.request.Request(
            f"{self.address}/{path}", body, {"Content-Type": "application/json"}
        )
        with pytest.raises(HTTPError) as error, urllib.request.urlopen(asked, timeout=10):
            pass
        error.value.close()
        return error.value.code


@pytest.fixture(scope="module")
def browsed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowsedDiagnosis]:
    """Yield one that runs; it is ended by Ctrl-C."""
    folder = tmp_path_factory.mktemp("browsed")
    (folder / "job.log").write_text(LOG)
    (folder / "tmp").mkdir()
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [sys.executable, "-m", "rankscope.cli.main", "diagnose", "job.log", "--time-zone"]
    with subprocess.Popen(
        [*command, "UTC", "--browse", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**environ, "TMPDIR": str(folder / "tmp")},
    ) as process:
        try:
            yield BrowsedDiagnosis(process, folder)
        finally:
            process.kill()


def test_the_incident_is_the_one_that_was_printed_with_its_lines(browsed: BrowsedDiagnosis):
    (listed,) = browsed.get("api/v1/incidents")["items"]
    assert f"{browsed.address}/#/incidents/{listed['id']}" == browsed.page
    shown = browsed.get(f"api/v1/incidents/{listed['id']}")
    assert browsed.printed == shown
    assert "CUDA out of memory" in shown["leftovers"]["lines"][0]["text"]


def test_the_job_has_ended_and_shows_what_could_be_read_of_it(browsed: BrowsedDiagnosis):
    (job,) = browsed.get("api/v1/jobs")["items"]
    assert ("job.log", "ended", 2) == (job["job"], job["status"], job["last_step"])
    losses = browsed.get("api/v1/jobs/job.log/series?metric=training.loss")["series"]
    assert [2.4, 2.2] == [value for _, value in losses[0]["points"]]


def test_the_pages_know_that_it_is_past(browsed: BrowsedDiagnosis):
    until = browsed.printed["updated_at"]
    assert f'<html lang="en" data-until="{until}">' in browsed.get("")


def test_nobody_may_change_anything_or_send_more(browsed: BrowsedDiagnosis):
    identity = browsed.printed["id"]
    assert "read" == browsed.get("api/v1/session")["role"]
    assert 403 == browsed.refused(f"api/v1/incidents/{identity}/ack")
    assert 503 == browsed.refused("v1/logs", b'{"resourceLogs": []}')
    assert browsed.printed == browsed.get(f"api/v1/incidents/{identity}")


def test_after_ctrl_c_nothing_is_left(browsed: BrowsedDiagnosis):
    """The last of this file: it ends what the others ask."""
    assert list((browsed.folder / "tmp").iterdir())
    browsed.process.send_signal(signal.SIGINT)
    assert 0 == browsed.process.wait(timeout=30)
    assert [] == list((browsed.folder / "tmp").iterdir())


def test_a_port_that_is_taken_is_named_after_the_report(tmp_path, capsys):
    (tmp_path / "job.log").write_text(LOG)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        given = ["diagnose", str(tmp_path / "job.log"), "--browse", "--port", port]
        assert 1 == main(given)
    printed = capsys.readouterr()
    assert "GPU out of memory: rank 3" in printed.out
    assert f"--port {port}: Address already in use; leave it out for a free one" in printed.err


def test_without_a_fault_there_is_nothing_to_look_at(tmp_path, capsys):
    (tmp_path / "job.log").write_text("".join(LOG.splitlines(keepends=True)[:2]))
    assert 1 == main(["diagnose", str(tmp_path / "job.log"), "--browse"])
    assert "no fault shows in the 1 files" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--port", "8080"], "--port goes with --browse"),
        (["--browse", "--port", "70000"], "'70000' is not a port"),
    ],
)
def test_wrong_use_is_named(options, message, tmp_path, capsys):
    try:
        code: object = main(["diagnose", str(tmp_path), *options])
    except SystemExit as error:
        code = error.code
    assert 2 == code
    assert message in capsys.readouterr().err
