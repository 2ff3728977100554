"""What is taken of what a process sends: its own, and nothing that the agent reads itself."""

import logging

import pytest

from rankscope.agent.health import AgentHealth
from rankscope.agent.process_reports import ProcessReports
from rankscope.agent.trainers import TrainerProcess
from rankscope.vocabulary import metrics
from rankscope.vocabulary.samples import Sample, attributes

OWN = [
    Sample("training.step", 3.0, 10.0, (("rank", 1),)),
    Sample("training.memory.allocated", 7e9, 10.0, (("rank", 1),)),
    Sample("training.rank.info", 1.0, 10.0, attributes({"rank": 1, "pid": 100, "hw.id": "GPU-1"})),
    Sample("collective.group.info", 1.0, 10.0, attributes({"group": "dp:1", "ranks": "0-3"})),
    Sample("our.queue_length", 4.0, 10.0, attributes({"queue": "in"})),
]


def trainer(doubt=""):
    return TrainerProcess(("", 100), "job", 0, 1, 100, 7, last_received=10.0, doubt=doubt)


@pytest.fixture
def health():
    return AgentHealth()


@pytest.fixture
def reports(health):
    return ProcessReports(health=health, stacks=False)


def test_an_honest_trainers_samples_are_taken_as_they_are(reports, health):
    """Its memory as the framework counts it, and metrics of its own, among them."""
    assert OWN == list(reports.samples(OWN, trainer()))
    assert OWN[:2] == list(reports.samples(OWN[:2], trainer()))
    inside = Sample("training.rank.info", 1.0, 10.0, attributes({"rank": 1, "pid": 7}))
    assert [inside] == list(reports.samples([inside], trainer()))
    assert 0 == health.counted("samples_claimed") + health.counted("samples_refused")


@pytest.mark.parametrize("doubt", ["", "unseen"])
@pytest.mark.parametrize(
    "metric",
    ["hw.errors", "hw.gpu.process.memory", "system.cpu.utilization", "process.memory.usage",
     "container.memory.usage", "hw.network.up"],
)  # fmt: skip
def test_what_the_agent_reads_is_taken_from_no_process(reports, health, caplog, metric, doubt):
    sample = Sample(metric, 1.0, 10.0, attributes({"rank": 1, "hw.id": "GPU-1"}))
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert [] == list(reports.samples([sample], trainer(doubt)))
    assert 3 == health.counted("samples_refused", metric)
    assert 1 == len(caplog.records)
    assert f"{metric} is read by the agent" in caplog.text


@pytest.mark.parametrize("pairs", [{"rank": 2}, {"rank": "2"}, {"rank": 1, "pid": 101}])
def test_samples_of_another_rank_or_process_are_claimed(reports, health, pairs):
    sample = Sample("training.rank.info", 1.0, 10.0, attributes({**pairs, "quality": "exact"}))
    (taken,) = reports.samples([sample], trainer())
    assert {**pairs, "quality": "claimed"} == dict(taken.attributes)
    assert taken.attributes == attributes(dict(taken.attributes)), "in their order"
    assert 1 == health.counted("samples_claimed", "other")


def test_all_of_a_sender_whom_nothing_shows_is_claimed(reports, health):
    taken = reports.samples(OWN, trainer("unseen"))
    assert [sample.metric for sample in OWN] == [sample.metric for sample in taken]
    assert {"claimed"} == {dict(sample.attributes)["quality"] for sample in taken}
    assert len(OWN) == health.counted("samples_claimed", "unseen")


def test_what_is_observed_is_of_nodes_and_processes():
    observed = metrics.observed()
    assert {"hw", "system", "container", "process"} == {name.partition(".")[0] for name in observed}
    rest = metrics.catalogue().keys() - observed
    assert {"training", "collective"} == {name.partition(".")[0] for name in rest}
