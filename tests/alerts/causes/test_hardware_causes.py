"""What devices, ports, switches, hosts and storage report names their fault and its entity."""

from collections.abc import Callable

import pytest
from tests.alerts.explaining import EVERYTHING

from rankscope.alerts.causes import engine
from rankscope.vocabulary import entities
from rankscope.vocabulary import findings as kinds
from rankscope.vocabulary.entities import Entity
from rankscope.vocabulary.ids import Job
from rankscope.vocabulary.topology import JobTopology, NicPort, RankPlacement

HOSTS = tuple(f"host-{number}" for number in range(8))


@pytest.fixture
def layout() -> JobTopology:
    """Return a job of sixteen ranks on eight hosts behind two leaf switches."""
    return JobTopology(
        Job("run-1"),
        placements=[
            RankPlacement(rank, HOSTS[rank // 2], pid=1000 + rank, hw_id=f"GPU-{rank}")
            for rank in range(16)
        ],
        switches={host: f"leaf-{number // 4}" for number, host in enumerate(HOSTS)},
        nics=[NicPort(host, "mlx5_0", "1") for host in HOSTS],
    )


@pytest.fixture
def at(layout: JobTopology) -> Callable[[str, int], Entity]:
    """Return a function that returns an entity by its type and number."""

    def entity(kind: str, number: int) -> Entity:
        device = layout.gpu_entity(number)
        assert device is not None
        return {
            "gpu": device,
            "job": layout.job_entity,
            "rank": layout.rank_entity(number),
            "host": layout.host_entity(HOSTS[number % 8]),
            "nic": layout.nic_entity(layout.nics[number % 8]),
            "switch": layout.switch_entity(f"leaf-{number % 2}"),
            "storage": Entity("storage", "/data", None, layout.job_entity.ranks),
        }[kind]

    return entity


@pytest.fixture
def explained(layout, at, found):
    """Return a function that explains rows of (kind of finding, number of its entity, score)."""

    def explain(*rows):
        findings = [
            found(kind, at(kinds.catalogue()[kind].entities[0], number), score=score)
            for kind, number, score in rows
        ]
        roots = engine.explanations(findings, layout, observed=EVERYTHING)
        return [
            (root.cause.hypotheses[0].fault, root.cause.hypotheses[0].entity.id) for root in roots
        ]

    return explain


def slow_rank(number):
    """Return what a slow rank shows: the job, its own work, and that it waits least."""
    return (
        ("job.slow", 0, 3.0),
        ("rank.slow_compute", number, 3.0),
        ("rank.waits_least", number, 3.0),
    )


def slow_exchange(score=3.0):
    return (("job.slow", 0, 3.0), ("job.slow_collectives", 0, score))


@pytest.mark.parametrize(
    ("fault", "entity", "rows"),
    [
        ("gpu.thermal_throttle", "GPU-5", (*slow_rank(5), ("gpu.throttled", 5, 3.0))),
        ("gpu.power_limited", "GPU-5", (*slow_rank(5), ("gpu.power_held", 5, 3.0))),
        ("gpu.power_limited", "GPU-5", (*slow_rank(5), ("gpu.power_limit_low", 5, 3.0))),
        ("gpu.clock_locked", "GPU-5", (*slow_rank(5), ("gpu.clock_low", 5, 3.0))),
        ("gpu.clock_locked", "GPU-5", (*slow_rank(5), ("gpu.clock_low", 5, 2.0))),
        ("gpu.slow", "GPU-5", slow_rank(5)),
        ("gpu.pcie_degraded", "GPU-5", (*slow_rank(5), ("gpu.pcie_slow", 5, 3.0))),
        ("gpu.pcie_degraded", "GPU-5", (("gpu.pcie_slow", 5, 3.0),)),
        ("gpu.foreign_process", "GPU-5", (*slow_rank(5), ("gpu.foreign_process", 5, 3.0))),
        ("gpu.lost", "GPU-5", (("gpu.lost", 5, 3.0), ("gpu.fault_event", 5, 3.0))),
        ("gpu.lost", "GPU-5", (("job.crashed", 0, 3.0), ("rank.first_exit", 5, 3.0),
                               ("gpu.lost", 5, 3.0), ("gpu.fault_event", 5, 3.0))),
        ("gpu.lost", "GPU-5", (("job.stalled", 0, 3.0), ("rank.behind_completed", 5, 3.0),
                               ("gpu.lost", 5, 3.0))),
        ("gpu.memory_uncorrectable", "GPU-5", (("job.crashed", 0, 3.0), ("rank.first_exit", 5, 3.0),
                                               ("gpu.memory_error", 5, 2.5))),
        ("gpu.memory_uncorrectable", "GPU-5", (("job.crashed", 0, 3.0), ("rank.first_exit", 5, 3.0),
                                               ("rank.root_log", 5, 2.0),
                                               ("gpu.memory_error", 5, 3.0),
                                               ("gpu.fault_event", 5, 3.0))),
        ("gpu.memory_uncorrectable", "GPU-5", (("gpu.memory_error", 5, 2.5),
                                               ("gpu.row_remap_pending", 5, 1.0))),
        ("gpu.row_remap", "GPU-5", (("gpu.row_remap_pending", 5, 1.0),)),
        ("gpu.row_remap", "GPU-5", (("gpu.row_remap_failed", 5, 2.0),)),
        ("gpu.firmware_hang", "GPU-5", (("job.stalled", 0, 3.0), ("rank.behind_completed", 5, 3.0),
                                        ("gpu.firmware_hung", 5, 3.0),
                                        ("gpu.fault_event", 5, 3.0))),
        ("host.config_drift", "host-5", (*slow_rank(10), *slow_rank(11)[1:],
                                         ("host.changed", 5, 2.0), ("host.cpu_wait", 5, 2.0))),
        ("gpu.firmware_hang", "GPU-5", (("job.stalled", 0, 3.0), ("rank.behind_completed", 5, 3.0),
                                        ("gpu.call_hung", 5, 3.0), ("gpu.fault_event", 5, 3.0))),
        ("host.driver_hang", "host-5", (("job.stalled", 0, 3.0), ("host.driver_stuck", 5, 3.0),
                                        ("gpu.call_hung", 10, 3.0), ("gpu.call_hung", 11, 3.0),
                                        ("gpu.fault_event", 10, 3.0))),
        ("host.driver_hang", "host-5", (*slow_rank(10), *slow_rank(11)[1:],
                                        ("host.driver_stuck", 5, 3.0), ("host.cpu_wait", 5, 3.0),
                                        ("gpu.call_hung", 10, 3.0), ("gpu.call_hung", 11, 3.0),
                                        ("gpu.fault_event", 10, 3.0))),
        ("gpu.power_limited", "GPU-5", (("gpu.power_limit_low", 5, 1.9),)),
        ("gpu.nvlink", "GPU-5", (("gpu.nvlink_down", 5, 3.0),)),
        ("gpu.nvlink", "GPU-5", (*slow_exchange(), ("gpu.nvlink_errors", 5, 3.0))),
        ("network.nic_down", "host-3/mlx5_0:1", (("nic.down", 3, 3.0),)),
        ("network.nic_down", "host-3/mlx5_0:1", (("job.stalled", 0, 3.0), ("nic.down", 3, 3.0))),
        ("network.link_flap", "host-3/mlx5_0:1", (("nic.flapping", 3, 3.0),)),
        ("network.link_flap", "host-3/mlx5_0:1", (*slow_exchange(), ("nic.flapped", 3, 2.0))),
        ("network.link_flap", "host-3/mlx5_0:1", (*slow_exchange(), ("nic.flapping", 3, 3.0),
                                                  ("nic.down", 3, 3.0), ("nic.retraining", 3, 2.0),
                                                  ("nic.errors", 3, 2.0))),
        ("network.nic_down", "host-3/mlx5_0:1", (("nic.down", 3, 3.0), ("nic.flapped", 3, 2.0))),
        ("network.cable_errors", "host-3/mlx5_0:1", (*slow_exchange(), ("nic.errors", 3, 3.0))),
        ("network.cable_errors", "host-3/mlx5_0:1", (("nic.retraining", 3, 3.0),)),
        ("network.switch", "leaf-1", (("switch.trouble", 1, 3.0),
                                      *(("nic.down", host, 3.0) for host in range(4, 8)))),
        ("network.switch", "leaf-1", (("switch.trouble", 1, 3.0), ("job.stalled", 0, 3.0),
                                      *(("host.silent", host, 3.0) for host in range(4, 8)))),
        ("network.switch", "leaf-1", (("switch.trouble", 1, 1.9),
                                      *(("nic.errors", host, 2.4) for host in range(4, 8)))),
        ("network.congestion", "run-1", (*slow_exchange(), ("job.congestion", 0, 2.5))),
        ("network.transport_fallback", "host-3", (("host.slow_transport", 3, 3.0),)),
        ("network.bootstrap_failed", "host-3", (("host.bootstrap_error", 3, 3.0),)),
        ("host.driver_hang", "host-3", (("job.stalled", 0, 3.0), ("host.driver_stuck", 3, 3.0),
                                        ("rank.behind_enqueued", 6, 3.0))),
        ("host.evicted", "host-3", (("job.crashed", 0, 3.0), ("rank.first_exit", 6, 3.0),
                                    ("host.taken", 3, 3.0))),
        ("host.storage_slow", "/data", (("job.slow", 0, 3.0), ("job.data_wait", 0, 3.0),
                                        ("storage.slow", 0, 3.0))),
        ("host.disk_full", "host-3", (("host.disk_full", 3, 3.0),)),
        ("host.disk_full", "host-3", (("job.crashed", 0, 3.0), ("rank.first_exit", 6, 3.0),
                                      ("host.disk_full", 3, 3.0))),
        ("host.clock_skew", "host-3", (("host.clock_off", 3, 1.0),)),
        ("host.config_drift", "host-3", (*slow_rank(6), *slow_rank(7)[1:],
                                         ("host.differs", 3, 2.0))),
    ],
)  # fmt: skip
def test_a_fault_is_named_at_its_entity_by_evidence_of_its_own(explained, fault, entity, rows):
    assert [(fault, entity)] == explained(*rows)


@pytest.mark.parametrize(
    "rows",
    [
        (("gpu.fault_event", 5, 3.0),),
        (("gpu.memory_corrected", 5, 3.0),),
        (("gpu.throttled", 5, 3.0), ("gpu.clock_low", 6, 3.0), ("gpu.power_held", 7, 3.0)),
        (("nic.errors", 3, 3.0), ("nic.flapped", 4, 2.0)),
        (("host.differs", 3, 2.0), ("host.changed", 4, 2.0)),
        (("storage.slow", 0, 3.0), ("job.congestion", 0, 3.0)),
        (("host.transport_message", 3, 3.0), ("host.taken", 4, 3.0)),
    ],
)
def test_evidence_without_an_effect_on_the_job_is_no_incident(explained, rows):
    assert [] == explained(*rows)


def test_errors_of_a_port_do_not_explain_a_rank_that_comes_late(explained):
    ((fault, entity),) = explained(*slow_rank(5), ("nic.errors", 2, 3.0))
    assert ("gpu.slow", "GPU-5") == (fault, entity)


def test_a_difference_of_its_host_does_not_explain_one_slow_device(explained):
    ((fault, entity),) = explained(*slow_rank(5), ("host.differs", 2, 2.0))
    assert ("gpu.slow", "GPU-5") == (fault, entity)


def test_a_power_limit_that_is_not_reached_is_not_why_a_job_is_slow(explained):
    limits = [("gpu.power_limit_low", rank, 0.9) for rank in (10, 11)]
    rows = explained(("job.slow", 0, 3.0), *limits)
    assert [("gpu.power_limited", "host-5"), ("unknown", "run-1")] == sorted(rows)


def test_a_device_is_not_slow_where_the_exchange_is_for_whom_all_wait_too(explained):
    weak = (("rank.slow_compute", 5, 1.0),)
    assert [("unknown", "5")] == explained(*slow_exchange(), *weak)
    assert [("gpu.slow", "GPU-5")] == explained(("job.slow", 0, 3.0), *weak)


def test_a_narrow_link_is_why_rank_0_waits_for_its_data(explained):
    rows = (("job.slow", 0, 3.0), ("rank.prepares_data", 0, 3.0), ("rank.data_wait", 0, 3.0))
    assert [("balance.rank0_preprocessing", "0")] == explained(*rows)
    assert [("gpu.pcie_degraded", "GPU-0")] == explained(*rows, ("gpu.pcie_slow", 0, 3.0))


def test_slowness_without_evidence_of_a_network_fault_names_none(explained):
    ((fault, _),) = explained(*slow_exchange())
    assert "unknown" == fault


def test_a_kernel_hang_of_the_host_goes_before_a_process_that_is_stuck(explained):
    ((fault, entity),) = explained(
        ("job.stalled", 0, 3.0),
        ("host.driver_stuck", 3, 3.0),
        ("rank.behind_enqueued", 6, 3.0),
        ("rank.outside_collective", 6, 2.5),
    )
    assert ("host.driver_hang", "host-3") == (fault, entity)


def test_every_hardware_entity_can_be_written(at):
    assert {"nic", "switch", "storage", "host", "gpu"} <= set(entities.ENTITY_TYPES)
    assert "nic host-3/mlx5_0:1" == str(at("nic", 3))
