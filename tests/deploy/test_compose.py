"""docker-compose.yml: of the right form, hardened, and its parts work together as processes.

No container engine runs here. What containers add (images, networks, users, mounts) is checked by
form only.
"""

import json
import re
import stat
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from compose_spec import PyOptions
from tests import waiting

from rankscope import settings
from rankscope.agent.settings import FOREIGN, AgentSettings
from rankscope.collector.settings.collector import CollectorSettings

from .composed import FILE, ROOT, Composed, load

SERVICES = load()["services"]
DAEMONS = {name: one for name, one in SERVICES.items() if name not in ("tokens", "demo")}


def test_the_file_is_of_the_compose_specification():
    options = PyOptions()
    options.apply_merge = True
    options.from_yaml(FILE.read_text()).validate()


def test_a_word_that_compose_does_not_have_is_an_error():
    options = PyOptions()
    options.apply_merge = True
    with pytest.raises(ValueError, match="restarts"):
        options.from_yaml(FILE.read_text().replace("restart:", "restarts:"))


@pytest.mark.parametrize("name", SERVICES)
def test_no_container_has_more_rights_than_it_needs(name: str):
    service = SERVICES[name]
    assert service["read_only"] is True
    assert ["ALL"] == service["cap_drop"]
    assert ["no-new-privileges:true"] == service["security_opt"]
    assert "privileged" not in service
    user = service.get("user", "65532:65532")  # our image's own: tests/deploy/test_dockerfile.py
    assert not user.startswith("0")


def test_every_port_is_on_loopback_only():
    ports = [port for service in SERVICES.values() for port in service.get("ports", ())]
    assert 6 == len(ports)
    assert [] == [port for port in ports if not port.startswith("127.0.0.1:")]


def test_every_image_of_others_has_a_version():
    images = {one["image"] for one in SERVICES.values()} - {"rankscope:local"}
    assert {"prom/prometheus", "prom/alertmanager", "grafana/grafana"} == {
        image.partition(":")[0] for image in images
    }
    assert [] == [image for image in images if not re.search(r":v?\d+\.\d+\.\d+$", image)]


def test_every_daemon_keeps_its_state_in_a_volume_and_says_whether_it_is_well():
    volumes = load()["volumes"]
    for name, service in DAEMONS.items():
        assert any(one.startswith(f"{name}:/") for one in service["volumes"]), name
        assert name in volumes
        assert {"test", "interval", "timeout", "retries", "start_period"} == set(
            service["healthcheck"]
        )


def test_what_is_mounted_from_the_repository_is_there_and_read_only():
    """Folders of dashboards and rules may come with another change; files may not be missing."""
    for service in SERVICES.values():
        for mount in service.get("volumes", ()):
            source, _, rest = mount.partition(":")
            if source.startswith("./"):
                assert rest.endswith(":ro")
                assert (ROOT / source).exists() or "." not in Path(source).name, source


def test_the_folders_of_grafana_are_where_its_provisioning_looks():
    targets = {one.split(":")[0]: one.split(":")[1] for one in SERVICES["grafana"]["volumes"]}
    shown = targets["./deploy/grafana/dashboards"]
    providers = sorted((ROOT / "deploy/grafana/provisioning/dashboards").glob("*.y*ml"))
    for path in providers:
        for provider in yaml.safe_load(path.read_text())["providers"]:
            assert shown == provider["options"]["path"]


@pytest.fixture
def composed(short_path: Path, program):
    started = Composed(short_path, program)
    yield started
    started.stop()
    for log in sorted(short_path.glob("*.log")):  # shown where the test fails
        sys.stdout.write(f"--- {log.name}\n{log.read_text()[-4000:]}\n")


def tokens(composed: Composed) -> Path:
    process = composed.start("tokens")
    assert 0 == process.wait(waiting.PATIENCE_SECONDS), composed.log("tokens")
    return Path(composed.path("collector", "/run/rankscope-tokens"))


def test_tokens_are_made_once_and_only_digests_are_in_the_collectors_file(composed: Composed):
    folder = tokens(composed)
    before = {path.name: path.read_text() for path in folder.iterdir()}
    assert {"admin", "agent.yaml", "collector.yaml", "ingest", "read"} == set(before)
    secret = [before[role] for role in ("admin", "ingest", "read")]
    assert 3 == len(set(secret))
    assert not any(one in before["collector.yaml"] for one in secret)
    assert stat.S_IMODE((folder / "admin").stat().st_mode) == 0o400
    assert not any(one in composed.log("tokens") for one in secret)
    tokens(composed)
    assert before == {path.name: path.read_text() for path in folder.iterdir()}


def test_agent_and_collector_would_start_with_what_they_are_given(composed: Composed):
    folder = tokens(composed)
    collector = settings.load(
        CollectorSettings,
        path=folder / "collector.yaml",
        environ=composed.services["collector"]["environment"],
    )
    assert "0.0.0.0:8470" == collector.http.listen
    assert collector.protected, "outside loopback the collector needs tokens"
    assert {"ingest", "read", "admin"} == {token.role for token in collector.api.tokens}
    agent = settings.load(
        AgentSettings,
        path=folder / "agent.yaml",
        environ=composed.services["agent"]["environment"],
        foreign=FOREIGN,
    )
    assert (folder / "ingest").read_text() == agent.push.token.get_secret_value()
    assert "compose" == agent.node.cluster


def until(question: Callable[[], Any], composed: Composed, *logs: str) -> Any:
    return waiting.until(
        question, more=lambda: "\n".join(composed.log(name)[-2000:] for name in logs)
    )


def ask(url: str, token: str = "", body: bytes | None = None) -> Any:
    headers = {"Content-Type": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    request = urllib.request.Request(url, data=body, headers=headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        text = answer.read()
    return json.loads(text) if text else None


@pytest.mark.programs
def test_every_part_works_with_the_others(composed: Composed):
    """Two daemons, Prometheus and Alertmanager, and a demo's job: what a user sees is there."""
    begun = time.monotonic()
    folder = tokens(composed)
    read, admin = (folder / "read").read_text(), (folder / "admin").read_text()
    composed.start("prometheus")
    composed.start("alertmanager")
    collector = f"http://127.0.0.1:{composed.port(8470)}"
    composed.start("collector")
    until(lambda: composed.healthy("collector"), composed, "collector")
    composed.start("agent")
    composed.start("demo")
    for name in ("agent", "prometheus", "alertmanager"):
        until(partial(composed.healthy, name), composed, name)

    def jobs() -> list[str]:
        """Return the demo's job; the agent sees those of others on this machine too."""
        found = ask(f"{collector}/api/v1/jobs", read)["items"]
        return [one["job"] for one in found if one["job"].startswith("demo-job-")]

    [job] = until(jobs, composed, "demo", "collector")
    ranks = until(
        lambda: (
            len(found := ask(f"{collector}/api/v1/jobs/{job}/ranks", read)["items"]) == 4 and found
        ),
        composed,
        "demo",
    )
    assert {"demo-a", "demo-b"} == {rank["host"] for rank in ranks}

    def up() -> dict[str, str]:
        url = f"http://127.0.0.1:{composed.port(9090)}/api/v1/query?query=up"
        found = ask(url)["data"]["result"]
        return {one["metric"]["instance"]: one["value"][1] for one in found}

    wanted = {f"127.0.0.1:{composed.port(n)}" for n in (9470, 9471, 9472, 8470, 9090, 9093)}
    until(lambda: wanted == {at for at, value in up().items() if value == "1"}, composed, "demo")

    def step_times() -> Any:
        series = f"training_step_duration_seconds%7Bjob_id%3D%22{job}%22%7D"
        url = f"http://127.0.0.1:{composed.port(9090)}/api/v1/query?query={series}"
        return ask(url)["data"]["result"]

    # The Job dashboard has something to show. Printed by -rP.
    until(step_times, composed, "prometheus", "demo")
    seconds = time.monotonic() - begun
    sys.stdout.write(f"first dashboard with data after {seconds:.1f} s\n")

    # The collector's notifications reach Alertmanager, and alerts of others reach the collector.
    tested = ask(f"{collector}/api/v1/webhooks/alertmanager/test", admin, b"")
    assert tested["delivered"], tested
    alerts = f"http://127.0.0.1:{composed.port(9093)}/api/v2/alerts"
    ask(alerts, body=json.dumps([{"labels": {"alertname": "X", "host": "demo-b"}}]).encode())
    page = f"http://127.0.0.1:{composed.port(9093)}/metrics"
    counter = r'(?m)^alertmanager_notifications_{}\{{integration="webhook"\S*\}} [1-9]'
    sent, failed = (re.compile(counter.format(name)) for name in ("total", "failed_total"))

    def notified() -> bool:
        with urllib.request.urlopen(page, timeout=60) as answer:
            text = answer.read().decode()
        assert not failed.search(text)
        return bool(sent.search(text))

    until(notified, composed, "alertmanager", "collector")


@pytest.mark.programs
def test_promtool_and_amtool_accept_the_files(program, composed: Composed, tmp_path: Path):
    tokens(composed)
    for service, tool, inside in (
        ("prometheus", "promtool", "/etc/prometheus/prometheus.yml"),
        ("alertmanager", "amtool", "/etc/alertmanager/alertmanager.yml"),
    ):
        words = ["check", "config"] if tool == "promtool" else ["check-config"]
        done = subprocess.run(
            [program(tool), *words, composed.path(service, inside)],
            text=True,
            capture_output=True,
            check=False,
        )
        assert 0 == done.returncode, done.stdout + done.stderr


def test_the_script_of_the_tokens_needs_the_standard_library_only():
    path = ROOT / "deploy/compose/tokens.py"
    done = subprocess.run(
        [sys.executable, "-I", "-S", path, "/nowhere/at/all"],
        text=True,
        capture_output=True,
        check=False,
    )
    assert "FileNotFoundError" in done.stderr


def test_the_file_beside_it_that_the_page_shows_is_accepted():
    page = (ROOT / "docs/deploy/compose.md").read_text()
    [text] = re.findall(r"^```yaml\n(services:.*?)^```", page, re.MULTILINE | re.DOTALL)
    PyOptions().from_yaml(text).validate()
    assert set(yaml.safe_load(text)["services"]) <= set(SERVICES)
