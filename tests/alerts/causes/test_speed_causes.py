"""The faults that show in how long steps take: each first by evidence of its own, never alone."""

import pytest
from tests.alerts.explaining import EVERYTHING

from rankscope.alerts.causes import engine
from rankscope.vocabulary import findings as kinds
from rankscope.vocabulary.entities import Entity
from rankscope.vocabulary.ranks import RankSet


def named(findings, topology):
    first = engine.explain(findings, topology, observed=EVERYTHING).hypotheses[0]
    return first.fault, first.entity.type


@pytest.fixture
def on_job(topology, found):
    """Return a function that makes findings of some kinds on the job, slowness first."""
    return lambda *shown: [found(kind, topology.job_entity) for kind in ("job.slow", *shown)]


@pytest.mark.parametrize(
    ("shown", "right"),
    [
        (("job.gc_pauses", "job.rotating_pauses"), ("software.gc_pause", "job")),
        (("job.checkpoint_long", "job.checkpoint_lost"), ("software.checkpoint_stall", "job")),
        (("job.slow_since_change", "job.slow_compute"), ("software.regression", "code")),
        (("job.recompiles", "job.compiler_signs"), ("software.recompile", "job")),
        (("job.data_wait", "job.data_lost"), ("software.dataloader_slow", "job")),
    ],
)
def test_a_fault_is_first_by_its_own_evidence(on_job, topology, shown, right):
    assert right == named(on_job(*shown), topology)


@pytest.mark.parametrize(
    "shown", [(), ("job.slow_compute",), ("job.slow_comm",), ("job.compiler_signs",)]
)
def test_what_several_faults_show_names_none_of_them(on_job, topology, shown):
    assert ("unknown", "job") == named(on_job(*shown), topology)


def test_a_straggler_that_is_there_as_well_speaks_against_a_regression(on_job, topology, found):
    findings = on_job("job.slow_since_change")
    both = [*findings, found("rank.slow_compute", topology.rank_entity(2))]

    def score(shown):
        cause = engine.explain(shown, topology, observed=EVERYTHING)
        return next(h.score for h in cause.hypotheses if h.fault == "software.regression")

    assert score(both) < score(findings)


def test_a_checkpoint_that_goes_on_explains_a_stall(topology, found):
    findings = [
        found(kind, topology.job_entity)
        for kind in ("job.stalled", "job.checkpoint_long", "job.checkpoint_lost")
    ]
    assert ("software.checkpoint_stall", "job") == named(findings, topology)


def test_a_restart_with_a_change_is_a_regression_though_no_parts_of_steps_are_compared(
    on_job, topology
):
    assert ("software.regression", "code") == named(on_job("job.slow_since_change"), topology)


def test_a_restart_that_made_all_ranks_slower_is_a_regression_though_no_change_is_reported(
    on_job, topology, found
):
    findings = on_job("job.slow_since_restart")
    assert ("software.regression", "code") == named(findings, topology)
    hot = [
        found("gpu.throttled", topology.gpu_entity(2)),
        found("rank.slow_compute", topology.rank_entity(2)),
    ]
    assert "software.regression" != named([*findings, *hot], topology)[0]


def test_stolen_cpu_time_is_contention_where_no_parts_of_steps_are_reported(topology, found):
    findings = [
        found("job.slow", topology.job_entity),
        found("host.cpu_steal", topology.host_entity("host-1")),
    ]
    parts = {signal for kind in ("rank.slow_compute", "rank.waits_least")
             for signal in kinds.catalogue()[kind].signals}  # fmt: skip
    observed = EVERYTHING - parts | {"training.step.duration"}
    first = engine.explain(findings, topology, observed=observed).hypotheses[0]
    assert (first.fault, first.entity.id) == ("host.cpu_contention", "host-1")


def test_slower_since_a_restart_alone_is_a_regression(on_job, topology):
    assert ("software.regression", "code") == named(on_job("job.slow_since_restart"), topology)


def test_what_shows_itself_after_a_restart_comes_before_a_regression(on_job, topology, found):
    restarted = on_job("job.slow_since_restart")
    sockets = found("host.transport_message", topology.host_entity("host-a"))
    stage = found("group.stage_slow", Entity("group", "pp stage 1", None, RankSet((2, 3))))

    exchange = found("job.exchange_since_restart", topology.job_entity)
    assert ("network.transport_fallback", "host") == named([*restarted, sockets], topology)
    assert ("network.transport_fallback", "job") == named([*restarted, exchange], topology)
    assert ("network.transport_fallback", "host") == named(
        [*restarted, exchange, sockets], topology
    )
    assert ("balance.pipeline_stage", "group") == named([*restarted, stage], topology)


def test_a_stage_is_not_cut_wrong_where_its_devices_got_hot(on_job, topology, found):
    hot = "pipeline stage 1 works 3 s in a step; clocks of its devices are held down since then"
    for text, fault in (("pipeline stage 1 works 3 s in a step", "balance.pipeline_stage"),
                        (hot, "unknown")):  # fmt: skip
        stage = found(
            "group.stage_slow", Entity("group", "pp stage 1", None, RankSet((2, 3))), text=text
        )
        assert fault == named([*on_job(), stage], topology)[0]


def test_a_rank_whose_allocator_retries_is_no_slow_device(on_job, topology, found):
    rank = topology.rank_entity(2)
    findings = [
        *on_job(),
        *(found(k, rank) for k in ("rank.slow_compute", "rank.memory_fragmented")),
    ]
    assert ("memory.fragmentation", "rank") == named(findings, topology)


def test_a_port_with_errors_is_not_why_steps_wait_for_data(on_job, topology, found, entity_of):
    errors = found("nic.errors", entity_of("nic.errors", 1))
    assert "network.cable_errors" == named([*on_job("job.slow_collectives"), errors], topology)[0]
    assert "network.cable_errors" != named([*on_job("job.data_wait"), errors], topology)[0]
