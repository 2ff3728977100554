"""For all tests: a clean environment, real programs of the machine, the incident's schema."""

import gc
import gzip
import json
import os
import shutil
import subprocess
import tempfile
import tomllib
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from importlib import resources
from pathlib import Path
from typing import Any

import hypothesis
import jsonschema
import pytest
from tests.clocks import SetClock
from tests.examples import examples
from tests.waiting import until

from bench.cluster.postgresql import PostgresqlServer, path_of_programs
from bench.stepped import SteppedStages
from rankscope.alerts.actions import PersonAction
from rankscope.collector.health.health import CollectorHealth
from rankscope.collector.intake.payloads import Payload
from rankscope.collector.journal.actions import RecordedAction
from rankscope.collector.journal.journal import FileJournal
from rankscope.collector.journal.kinds import PayloadKind
from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.collector.recordings import otlp_lines
from rankscope.collector.settings.journal import JournalSettings
from rankscope.collector.store.store import IncidentDatabaseStore
from rankscope.formats.otlp import encode
from rankscope.lab.demo.stage import free_port
from rankscope.vocabulary import incident_schema
from rankscope.vocabulary.samples import Sample, TelemetryResource, attributes

# No example fails for the time it takes. CI tries the same examples each time, so that a failure
# comes from the change under test; everybody else tries new ones.
_PROFILE: dict[str, Any] = {"deadline": None, "max_examples": examples(100)}
hypothesis.settings.register_profile("anybody", **_PROFILE)
hypothesis.settings.register_profile("ci", **_PROFILE, derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("RANKSCOPE_EVERY_PART") else "anybody")

OF_THE_SUITE = ("RANKSCOPE_EVERY_PART", "RANKSCOPE_TESTS")
"""Variables of the tests themselves: every part is installed; `long` for the long target."""

REAL_DATA = Path(__file__).resolve().parents[1].parent / "shared" / "data"

LONGEST_TMPDIR = 20
"""Characters; pytest and a test's name add about seventy."""


def pytest_configure() -> None:
    """Take from the environment what would change the outcome of a test or of what it starts.

    Settings of a Rankscope in use here, the variables of a launcher (the suite may run in a Slurm
    allocation, or on Jenkins, which sets JOB_NAME) and colours forced upon output that is compared.
    A proxy stays, for pyright may still have to fetch its own package, but not for this machine.

    Matrices have one thread in workers and in what tests start, as in the command: of small ones a
    second thread only takes CPU time from others while it waits.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    text = (
        resources.files("rankscope.vocabulary")
        .joinpath("identity.toml")
        .read_text(encoding="utf-8")
    )
    launchers = [list(row.values()) for row in tomllib.loads(text)["launcher"]]
    foreign = {
        name for row in launchers for names in row if isinstance(names, list) for name in names
    }
    foreign |= {"MASTER_ADDR", "MASTER_PORT", "FORCE_COLOR", "CLICOLOR_FORCE"}
    for name in list(os.environ):
        ours = name.startswith("RANKSCOPE_") and name not in OF_THE_SUITE
        if ours or name in foreign:
            del os.environ[name]
    direct = [os.environ.get("no_proxy") or os.environ.get("NO_PROXY"), "127.0.0.1", "localhost"]
    os.environ["no_proxy"] = os.environ["NO_PROXY"] = ",".join(one for one in direct if one)
    # Tests bind Unix sockets below tmp_path, and the path of a socket has at most 107 bytes.
    if len(tempfile.gettempdir()) > LONGEST_TMPDIR:
        tempfile.tempdir = os.environ["TMPDIR"] = "/tmp"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep the garbage collector from looking through what is there until the end, again and again.

    Modules and tests are millions of objects, and to look through them takes half a second.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session")
def program() -> Callable[[str], str]:
    """Return a finder of real programs by name: `program("chromium")` is its path.

    Where the program is absent the test is skipped, saying so. With RANKSCOPE_EVERY_PART set, as
    .ci/run sets it, nothing may be skipped and the test fails.
    """

    def find(name: str) -> str:
        path = shutil.which(name, path=path_of_programs())
        if path is None and os.environ.get("RANKSCOPE_EVERY_PART"):
            pytest.fail(f"{name} is not installed, and .ci/run installs every part")
        if path is None:
            pytest.skip(f"{name} is not installed; .ci/run installs it")
        return path

    return find


@pytest.fixture(scope="session")
def postgresql(program) -> Iterator[PostgresqlServer]:
    """Start a real PostgreSQL, once for all tests."""
    server = PostgresqlServer(program("postgres"))
    yield server
    server.remove()


@pytest.fixture(scope="session")
def valid_incident() -> Callable[[dict[str, Any]], None]:
    """Return a function that raises ValidationError where an incident document breaks its schema.

    jsonschema checks times only with a package more; these few lines do it instead.
    """
    formats = jsonschema.FormatChecker()

    @formats.checks("date-time", raises=ValueError)
    def has_date_time_and_zone(text: object) -> bool:
        return not isinstance(text, str) or datetime.fromisoformat(text).tzinfo is not None

    validator = jsonschema.Draft202012Validator(incident_schema.schema(), format_checker=formats)
    validate: Callable[[dict[str, Any]], None] = validator.validate
    return validate


@pytest.fixture
def short_path() -> Iterator[Path]:
    """Make a folder whose path is short enough for Unix sockets some levels below it."""
    path = Path(tempfile.mkdtemp(prefix="rs-", dir="/tmp"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def prometheus(program, tmp_path):
    """Start a real Prometheus with some scrape configs; return a function that runs a query."""
    running = []

    def start(scrape_configs: list[dict[str, Any]]):
        config = tmp_path / "prometheus.yml"
        config.write_text(
            json.dumps(
                {
                    "global": {"scrape_interval": "500ms", "scrape_timeout": "500ms"},
                    "scrape_configs": scrape_configs,
                }
            )
        )
        address = f"127.0.0.1:{free_port()}"
        log = (tmp_path / "prometheus.log").open("w")
        running.append(
            (
                subprocess.Popen(
                    [
                        program("prometheus"),
                        f"--config.file={config}",
                        f"--storage.tsdb.path={tmp_path / 'data'}",
                        f"--web.listen-address={address}",
                    ],
                    stdout=log,
                    stderr=log,
                ),
                log,
            )
        )

        def ask(query: str) -> list[dict[str, Any]]:
            url = f"http://{address}/api/v1/query?" + urllib.parse.urlencode({"query": query})
            with urllib.request.urlopen(url, timeout=60) as answer:
                found: list[dict[str, Any]] = json.load(answer)["data"]["result"]
            return found

        until(lambda: ask("vector(1)"), "Prometheus")
        return ask

    yield start
    for process, log in running:
        process.terminate()
        process.wait(60)
        log.close()


@pytest.fixture
def alertmanager(program, tmp_path):
    """Return a function that starts a real Alertmanager with a configuration; it gives its URL."""
    running = []

    def start(config: dict[str, Any]) -> str:
        path = tmp_path / "alertmanager.yml"
        path.write_text(json.dumps(config))
        address = f"127.0.0.1:{free_port()}"
        log = (tmp_path / "alertmanager.log").open("w")
        running.append(
            (
                subprocess.Popen(
                    [
                        program("prometheus-alertmanager"),
                        f"--config.file={path}",
                        f"--storage.path={tmp_path / 'alertmanager'}",
                        f"--web.listen-address={address}",
                        "--cluster.listen-address=",
                    ],
                    stdout=log,
                    stderr=log,
                ),
                log,
            )
        )

        def ready() -> int:
            with urllib.request.urlopen(f"http://{address}/-/ready", timeout=60) as answer:
                return int(answer.status)

        until(ready, "Alertmanager")
        return f"http://{address}"

    yield start
    for process, log in running:
        process.terminate()
        process.wait(60)
        log.close()


@dataclass
class Recorded:
    """A collector's data folder, left by one that has stopped, and the incident in it."""

    folder: Path
    incident: dict[str, Any]


@pytest.fixture(scope="session")
def recorded(tmp_path_factory) -> Recorded:
    """Return the data folder of a collector that received a job with a contended host.

    Beside it ran another job on a host of its own. Nobody may change it.
    """
    folder = tmp_path_factory.mktemp("data")
    clock = SetClock(0.0)
    store = IncidentDatabaseStore(f"sqlite:///{folder / 'rankscope.db'}")
    stages = SteppedStages(
        pipeline=DetectionPipeline(),
        journal=FileJournal(folder / "journal", JournalSettings()),
        decisions=FileJournal(folder / "journal" / "evaluation", JournalSettings()),
        sink=store,
        clock=clock,
        health=CollectorHealth(),
    )
    stages.recover()
    other = TelemetryResource(host="other-host", job="other-job", cluster="demo")
    with gzip.open(Path(__file__).parent / "fixtures" / "cpu_contention.otlp.jsonl.gz") as lines:
        for line in lines:
            at = otlp_lines.event_time(line)
            if at is None:
                continue
            kind = (
                PayloadKind.LOGS_JSON if b"resourceLogs" in line[:40] else PayloadKind.METRICS_JSON
            )
            clock.at = max(clock.at, at + 0.05)
            stages.submit(Payload(kind, line))
            steps = [Sample("training.step", at, at, attributes({"rank": 0}))]
            stages.submit(
                Payload(PayloadKind.METRICS_PROTOBUF, encode.metrics_request([(other, steps)]))
            )
            stages.step()
    for _ in range(30):
        clock.at += 1
        stages.step()
    stages.stop()
    (incident,) = [row for row in store.incidents().items if row["severity"] != "info"]
    action = PersonAction("feedback", incident["id"], clock.at, "ada", _CORRECT)
    store.enter(RecordedAction.new(action), [], clock.at)
    found = store.incident(incident["id"])
    store.close()
    assert found is not None
    return Recorded(folder, found)


_CORRECT = {"note": "", "verdict": "correct", "fault": None, "entity": None}


@pytest.fixture
def real_data() -> Callable[[str], Path]:
    """Return a function that finds a file of the real data, or skips saying what is absent."""

    def find(name: str) -> Path:
        path = REAL_DATA / name
        if not path.exists():
            pytest.skip(f"../shared/data/{name} is absent: real data is never part of this project")
        return path

    return find
