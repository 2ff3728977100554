"""The pods of the default overlay as processes: their arguments and variables, their probes.

A container's folders are folders of the test here, its addresses free ports; nothing else differs.
"""

import json
import os
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from tests import waiting

from rankscope.lab.demo.processes import DemoProcess, DemoProcesses
from rankscope.lab.demo.stage import clean_environment, free_port

from .clients import KUBERNETES, Clients
from .documents import TOKENS, Document, agent, collector, container, environ

pytestmark = pytest.mark.programs


def get(url: str, token: str = "") -> Any:
    """Return what is answered; None when nobody does, or with an error."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        with urllib.request.urlopen(
            urllib.request.Request(url, headers=headers), timeout=60
        ) as one:
            text = one.read()
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return None
    return json.loads(text) if text.startswith((b"{", b"[")) else {"text": text.decode()}


def until(question: Any, started: list[DemoProcess]) -> Any:
    def look() -> Any:
        for one in started:
            assert one.ended is None, one.log.read_text()
        return question()

    return waiting.until(
        look, more=lambda: "\n".join(one.log.read_text()[-2000:] for one in started)
    )


def command(document: Document) -> list[str]:
    return [sys.executable, "-m", "rankscope.cli.main", *container(document)["args"]]


def test_the_node_of_the_manifests_is_in_the_console(clients: Clients, short_path: Path):
    documents = clients.kustomize(KUBERNETES)
    inside, outside = "http://rankscope-collector:8470", f"http://127.0.0.1:{free_port()}"
    page = f"http://127.0.0.1:{free_port()}"
    begun = time.monotonic()
    with DemoProcesses(short_path) as processes:
        given = environ(collector(documents))
        assert "/var/lib/rankscope" == given["RANKSCOPE_DATA_DIR"]
        given |= {
            "RANKSCOPE_DATA_DIR": str(short_path / "data"),
            "RANKSCOPE_HTTP__LISTEN": outside.removeprefix("http://"),
        }
        words = command(collector(documents))
        first = processes.start("collector", words, environ={**clean_environment(), **given})
        given = environ(agent(documents))
        assert inside == given["RANKSCOPE_PUSH__ENDPOINT"]
        given |= {
            "RANKSCOPE_PUSH__ENDPOINT": outside,
            "RANKSCOPE_EXPORT__LISTEN": page.removeprefix("http://"),
            "RANKSCOPE_PROBE__SOCKET": str(short_path / "probe.sock"),
            "RANKSCOPE_SPOOL__FOLDER": str(short_path / "spool"),
            "RANKSCOPE_NODE__STATE": str(short_path / "state"),
        }
        words = command(agent(documents))
        second = processes.start("agent", words, environ={**clean_environment(), **given})
        started = [first, second]
        for address, document in ((outside, collector(documents)), (page, agent(documents))):
            probes = [container(document)[name] for name in ("livenessProbe", "readinessProbe")]
            for path in {probe["httpGet"]["path"] for probe in probes}:
                until(lambda url=f"{address}{path}": get(url), started)

        def nodes() -> list[str]:
            answer = get(f"{outside}/api/v1/hosts", TOKENS["read"]) or {"items": []}
            return [one["host"] for one in answer["items"]]

        assert ["node-17"] == until(nodes, started)
        seconds = time.monotonic() - begun
        assert get(f"{outside}/api/v1/hosts") is None, "without a token nothing is shown"
    sys.stdout.write(
        f"the node in the console after {seconds:.1f} s, load {os.getloadavg()[0]:.1f}\n"
    )
