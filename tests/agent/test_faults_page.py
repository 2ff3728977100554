import json
import urllib.error
import urllib.request

import pytest

from rankscope.agent import exposition
from rankscope.agent.device_faults import FaultTracker
from rankscope.agent.health import AgentHealth
from rankscope.agent.latest import LatestValues
from rankscope.agent.scraping import ScrapeServer
from rankscope.vocabulary.samples import Event


@pytest.fixture
def serve():
    """Serve a page; its URL."""
    running = []

    def start(**more):
        page = exposition.ExpositionPage(
            latest=LatestValues(period_seconds=5.0),
            health=AgentHealth(),
            groups=False,
            max_series=100,
        )
        one = ScrapeServer("127.0.0.1:0", page=page, now=lambda: 0.0, **more)
        running.append(one)
        return f"http://127.0.0.1:{one.port}"

    yield start
    for one in running:
        one.close()


def test_open_faults_are_served_as_json(serve):
    fault_tracker = FaultTracker(boot_id="boot-1", now=0.0)
    url = serve(faults=fault_tracker.document)
    fault_tracker.take(Event("gpu.fault", 1.0, {"hw.id": "GPU-a", "code": "79"}), 1.0)
    with urllib.request.urlopen(f"{url}/faults") as answer:
        assert "application/json" == answer.headers["Content-Type"]
        told = json.load(answer)
    assert [("GPU-a", "79", "fatal")] == [
        (one["hw.id"], one["code"], one["class"]) for one in told["open"]
    ]


def test_without_verdicts_there_is_no_such_page(serve):
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(f"{serve()}/faults")
    assert 404 == error.value.code
    error.value.close()
