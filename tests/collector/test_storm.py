"""A storm: ten thousand findings within ten seconds that one switch explains are one incident."""

import pytest

from rankscope.alerts.ports import Endpoint
from rankscope.collector.evaluation.schedule import Hooks, Schedule
from rankscope.collector.intake.payloads import Decoded
from rankscope.collector.pipeline import Pipeline
from rankscope.collector.store import Store, endpoints
from rankscope.formats.otlp.columns import MetricsBatch
from rankscope.lab.simulator import recording
from rankscope.lab.simulator.shape import EPOCH, Cluster, Job, Reporting, Scenario

ONSET, ENDS = 30.0, 50.0
HOSTS, PORTS, BEHIND = 144, 8, 128
"""The leaf switch of 128 hosts goes down, with their 1,024 ports."""

FINDINGS, SECONDS = 10_000, 10.0


@pytest.fixture(scope="module")
def recorded():
    return recording.simulate(
        Scenario(
            name="storm",
            text="a leaf switch goes down, and everything behind it",
            seconds=ENDS,
            cluster=Cluster(hosts=HOSTS, slots=1, nics=PORTS, hosts_per_switch=BEHIND),
            jobs=(Job(step_seconds=1.0, hiccups=0.0),),
            reporting=Reporting(),
            fault={
                "kind": "switch", "onset": ONSET, "host": 0, "place": 0, "slots": 1, "down": True,
                "per_switch": BEHIND, "gives_up": 60.0,
            },
        ),
        seed=1,
    )  # fmt: skip


class Storm:
    """A pipeline and a store with two channels; what was found in each second."""

    def __init__(self, url: str) -> None:
        self.store = Store(url)
        for name in ("chat", "pager"):
            secret = endpoints.new_secret()
            self.store.add_webhook(Endpoint(name, "http://127.0.0.1:9/", secret, "standard"), 0.0)
        self.pipeline = Pipeline()
        self.pipeline.watch = lambda window, found: self.found.update({window.now: len(found)})
        self.found: dict[float, int] = {}
        self.changes: list[tuple[float, str]] = []

    def play(self, recorded) -> None:
        def failed(stage, error):
            raise AssertionError(stage) from error

        schedule = Schedule(self.pipeline, Hooks(changed=self.changed, failed=failed))
        now = 0.0
        for at, what in recorded.batches(self.pipeline.table):
            now = max(now, at)
            told = Decoded(metrics=what) if isinstance(what, MetricsBatch) else Decoded(events=what)
            schedule.apply(told, now)
        schedule.until(now)

    def changed(self, changes, now) -> None:
        self.store.commit(changes, now)
        self.changes += [(now, change.incident.id) for change in changes]

    def most_findings(self) -> int:
        """Return how many findings there were at most within the seconds of a storm."""
        return max(
            sum(count for at, count in self.found.items() if start <= at < start + SECONDS)
            for start in self.found
        )


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_ten_thousand_findings_of_one_switch_are_one_incident_and_two_messages(recorded, tmp_path):
    storm = Storm(f"sqlite:///{tmp_path / 'rankscope.db'}")
    storm.play(recorded)
    assert storm.most_findings() >= FINDINGS
    (document,) = storm.store.incidents().items
    first = document["root_cause"]["hypotheses"][0]
    assert first["fault"] == "network.switch"
    assert first["entity"]["type"] == "switch"
    assert document["detected_at"] is not None
    opened = min(at for at, _ in storm.changes)
    assert EPOCH + ONSET <= opened <= EPOCH + ONSET + SECONDS
    for channel in ("chat", "pager"):
        assert 1 <= len(storm.store.deliveries(channel)) <= 2
    storm.store.close()
