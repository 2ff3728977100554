"""Which topology become candidates: what evidence touches, as the types a fault may point at."""

import pytest
from tests.alerts.explaining import EVERYTHING

from rankscope.alerts.causes import engine
from rankscope.alerts.causes.catalogue import parse
from rankscope.vocabulary import entities

WEIGHTS = """
version = "test"
[weights]
unknown_share = 0.2
least_share = 0.03
needed = 3.0
missing = 0.2
family_cap = 4.0
cover = 3.0
early = 0.3
together = 1.2
together_seconds = 15.0
late = -0.7
late_seconds = 20.0
"""


def explain(findings, topology, **more):
    return engine.explain(findings, topology, observed=EVERYTHING, **more)


def knowing(fault, *predicts, covers=()):
    """Return a catalogue of one cause of slowness: (finding, at, essential) each."""
    rows = ", ".join(
        f'{{ finding = "{finding}", at = "{at}", present = 2.0, absent = 0.0,'
        f" essential = {str(essential).lower()} }}"
        for finding, at, essential in predicts
    )
    return parse(
        WEIGHTS,
        f"""
[[fault]]
id = "{fault}"
share = 0.1
symptoms = ["job.slow"]
covers = [{", ".join(f'"{kind}"' for kind in covers)}]
predicts = [{rows}]
contradicts = []
actions = []
checks = []
""",
    )


@pytest.fixture
def candidates(topology, found):
    """Return a function that returns the candidates of a fault that one finding touches."""

    def name(fault, kind, entity, at="self"):
        knowledge = knowing(fault, (kind, at, False))
        findings = [found("job.slow", topology.job_entity), found(kind, entity)]
        cause = explain(findings, topology, knowledge=knowledge)
        return [(row.entity.type, row.entity.id) for row in cause.hypotheses if row.fault == fault]

    return name


def test_a_rank_leads_to_its_host_and_its_device(candidates, topology):
    rank = topology.rank_entity(2)
    assert [("host", "host-b")] == candidates("host.lost", "rank.waits_least", rank, "ranks")
    assert [("gpu", "GPU-2")] == candidates("gpu.slow", "rank.waits_least", rank, "ranks")
    assert [("rank", "2")] == candidates("software.stuck_process", "rank.waits_least", rank)
    assert [("job", "run-1")] == candidates("numerics.plateau", "rank.waits_least", rank, "job")


def test_a_device_and_a_process_lead_to_their_ranks(candidates, topology):
    device, process = topology.gpu_entity(2), entities.process("host-b", 1002, (2,))
    stuck = "software.stuck_process"
    assert [("rank", "2")] == candidates(stuck, "gpu.throttled", device, "ranks")
    assert [("gpu", "GPU-2")] == candidates("gpu.slow", "gpu.throttled", process, "ranks")


def test_a_host_does_not_lead_to_one_of_its_devices(candidates, topology):
    assert [] == candidates("gpu.slow", "host.cpu_busy", topology.host_entity("host-b"))


def test_a_host_that_runs_none_of_the_jobs_ranks_still_is_itself(candidates, topology):
    stranger = entities.host("elsewhere")
    assert [("host", "elsewhere")] == candidates("host.lost", "host.cpu_busy", stranger)


def test_a_cause_without_one_of_its_essential_findings_stays_below_unknown(topology, found):
    knowledge = knowing(
        "gpu.slow", ("rank.slow_compute", "ranks", True), ("gpu.throttled", "self", True)
    )
    slow = [
        found("job.slow", topology.job_entity),
        found("rank.slow_compute", topology.rank_entity(2)),
    ]
    cause = explain(slow, topology, knowledge=knowledge)
    assert ["unknown", "gpu.slow"] == [h.fault for h in cause.hypotheses]
    assert cause.hypotheses[1].score < cause.unknown.score
    both = [*slow, found("gpu.throttled", topology.gpu_entity(2))]
    assert "gpu.slow" == explain(both, topology, knowledge=knowledge).hypotheses[0].fault


def test_a_candidate_that_nothing_supports_has_no_time_to_speak_for_it(topology, found):
    """The finding touches the host, but the prediction asks for it on the host itself."""
    knowledge = knowing("host.lost", ("rank.waits_least", "self", False))
    findings = [
        found("job.slow", topology.job_entity),
        found("rank.waits_least", topology.rank_entity(2)),
    ]
    cause = explain(findings, topology, knowledge=knowledge)
    host = next(h for h in cause.hypotheses if h.fault == "host.lost")
    assert ["prior"] == [term.family for term in host.evidence]


def test_an_entity_with_half_of_the_affected_ranks_is_worse_than_the_one_with_all(topology, found):
    knowledge = knowing(
        "host.lost", ("rank.slow_compute", "ranks", False), covers=("rank.slow_compute",)
    )
    slow = [found("rank.slow_compute", topology.rank_entity(rank)) for rank in (1, 2, 3)]
    cause = explain([found("job.slow", topology.job_entity), *slow], topology, knowledge=knowledge)
    hosts = {h.entity.id: h.score for h in cause.hypotheses if h.fault == "host.lost"}
    assert hosts["host-b"] > hosts["host-a"]


@pytest.mark.parametrize(
    ("onset", "weight"), [(40.0, 1.2), (28.0, 1.2), (-200.0, 0.3), (54.0, 1.2), (75.0, -0.7)]
)
def test_what_begins_with_the_symptom_supports_more_than_what_was_long_there(
    topology, found, onset, weight
):
    knowledge = knowing("host.lost", ("host.silent", "self", False))
    silent = found("host.silent", topology.host_entity("host-a"), onset)
    cause = explain(
        [found("job.slow", topology.job_entity, 40.0), silent], topology, knowledge=knowledge
    )
    host = next(h for h in cause.hypotheses if h.fault == "host.lost")
    assert [weight] == [term.weight for term in host.evidence if term.family == "time"]


def test_that_a_symptom_begins_with_itself_says_nothing(topology, found):
    knowledge = knowing("host.lost", ("job.slow", "job", False), ("rank.waits_least", "job", False))
    cause = explain([found("job.slow", topology.job_entity)], topology, knowledge=knowledge)
    weights = [
        term.weight for row in cause.hypotheses for term in row.evidence if term.family == "time"
    ]
    assert set(weights) <= {0.3}


def test_what_a_device_would_have_reported_rules_out_more_than_what_is_easily_overlooked(
    topology, found
):
    """Of a slow rank without a reason: a throttle reason is read, a setting is hardly reported."""
    slow = [
        found("job.slow", topology.job_entity),
        found("rank.slow_compute", topology.rank_entity(3)),
    ]
    seen = [row.fault for row in explain(slow, topology).hypotheses]
    assert "gpu.slow" == seen[0]
    assert {"gpu.foreign_process", "gpu.power_limited"} == set(seen[1:3])
    assert "gpu.thermal_throttle" not in seen

    blind = frozenset(name for name in EVERYTHING if not name.startswith("hw."))
    unseen = engine.explain(slow, topology, observed=blind).hypotheses
    assert "gpu.thermal_throttle" in [row.fault for row in unseen[:3]]
