"""Who may speak for one job moves nothing of a host for another: harmless input of two owners."""

import numpy as np
import pytest

from rankscope.collector.windows import devices, nodes
from rankscope.vocabulary import entities

AGE = "training.progress.age"
OURS, THEIRS = "run-1", "other"


@pytest.fixture
def shared(valid):
    """Return two jobs on one host, whose node reports too where `node` says so."""

    def report(second, *, ahead=0.0, node=True):
        valid.step(0, second, second, host="host-a", now=second)
        valid.metrics((AGE, 1.0, second + ahead, {"rank": 0}), job=THEIRS, now=second)
        if node:
            usage: tuple[str, float, float, dict[str, str]] = (
                "system.cpu.utilization",
                0.5,
                second,
                {},
            )
            valid.metrics(usage, job=None, now=second)

    valid.report = report
    return valid


@pytest.mark.parametrize("node", [True, False])
def test_a_jobs_clock_is_not_that_of_another_on_the_same_host(shared, after, node):
    for second in range(0, 40, 5):
        shared.report(second, ahead=3600.0, node=node)
    window = shared.window()
    assert [after(second) for second in range(0, 40, 5)] == window.steps.at[0].tolist()
    assert 0.0 == window.clock_skew


def test_a_clock_that_is_off_is_that_of_everybody_whom_the_node_reports_beside(shared, after):
    for second in range(0, 40, 5):
        usage: tuple[str, float, float, dict[str, str]] = (
            "system.cpu.utilization",
            0.5,
            second + 3600.0,
            {},
        )
        shared.metrics(usage, job=None, now=second)
        shared.step(0, second, second + 3600.0, host="host-a", now=second)
    window = shared.window()
    assert [after(second) for second in range(0, 40, 5)] == window.steps.at[0].tolist()
    assert 3600.0 == window.clock_skew


def test_one_batch_of_several_owners_is_freed_of_the_nodes_offset(valid, after):
    table = valid.windows.table
    valid.metrics(("system.cpu.utilization", 0.5, 3600.0, {}), job=None, now=0.0)
    before = len(table)
    valid.mixed(
        [
            (None, "system.cpu.utilization", 3610.0, {}),
            (OURS, AGE, 3610.0, {"rank": 0}),
            (THEIRS, AGE, 3611.0, {"rank": 0}),
        ],
        now=10.0,
    )
    assert len(table) == before + 2
    for job, second in ((OURS, 10.0), (THEIRS, 11.0)):
        window = valid.windows.window(valid.windows.attempt(job), after(11))
        assert after(second) == window.rank_readings[AGE].of(np.array([0])).latest()[1][0]


def test_nobody_announces_the_end_of_an_agent_but_the_node(shared):
    shared.report(0)
    shared.event("agent.lifecycle", 1, job=THEIRS, host="host-a", phase="shutdown")
    assert [False] == shared.window().host_announced.tolist()
    shared.event("agent.lifecycle", 1, job=None, host="host-a", phase="shutdown")
    assert [True] == shared.window().host_announced.tolist()


def test_what_another_job_reports_takes_back_no_announced_end(shared):
    shared.report(0)
    shared.event("agent.lifecycle", 1, job=None, host="host-a", phase="shutdown")
    shared.metrics((AGE, 1.0, 60, {"rank": 0}), job=THEIRS, now=60)
    assert [True] == shared.window(now=60).host_announced.tolist()
    shared.metrics((AGE, 1.0, 61, {"rank": 0}), now=61)
    assert [False] == shared.window(now=61).host_announced.tolist()


def test_the_switch_of_a_host_is_what_it_says_itself_or_the_job_of_itself(valid):
    valid.metrics((AGE, 1.0, 0, {"rank": 0}))
    valid.metrics((AGE, 1.0, 0, {"rank": 0}), job=THEIRS, network_switch="false-1")
    assert {} == valid.window().topology.switches
    other = valid.windows.attempt(THEIRS)
    assert {"host-a": "false-1"} == valid.windows.topology(other).switches
    usage: tuple[str, float, float, dict[str, str]] = ("system.cpu.utilization", 0.5, 1, {})
    valid.metrics(usage, job=None, network_switch="leaf-1")
    found = [valid.windows.topology(valid.windows.attempt(job)).switches for job in (OURS, THEIRS)]
    assert 2 * [{"host-a": "leaf-1"}] == found


def test_what_a_device_is_goes_with_whoever_describes_it(valid, after):
    info = ("hw.gpu.info", 1.0, 0, {"hw.id": "GPU-1", "gpu": 0})
    valid.metrics((AGE, 1.0, 0, {"rank": 0}))
    valid.metrics((*info[:3], {**info[3], "hw.model": "false"}), job=THEIRS)
    assert {} == valid.window().hw_models
    valid.metrics((*info[:3], {**info[3], "hw.model": "H100"}), job=None)
    assert {"GPU-1": "H100"} == valid.window().hw_models
    other = valid.windows.window(valid.windows.attempt(THEIRS), after(1))
    assert {"GPU-1": "H100"} == other.hw_models


def reports(valid, second, *, job):
    if job is None:
        valid.metrics(("system.cpu.utilization", 0.5, second, {}), job=None, now=second)
    else:
        valid.metrics((AGE, 1.0, second, {"rank": 0}), job=job, now=second)


@pytest.mark.parametrize("node", [True, False])
def test_another_job_keeps_no_dead_host_alive(shared, after, node):
    for second in range(0, 20, 5):
        shared.report(second, node=node)
    for second in range(20, 100, 5):
        reports(shared, second, job=THEIRS)
        shared.event("log.fault", second, job=THEIRS, rank=0)
    assert [after(15)] == shared.window(now=100).host_last_received.tolist()


def test_another_job_that_reports_now_and_then_moves_no_interval_and_is_no_return(shared, after):
    for second in range(0, 200, 5):
        shared.report(second)
        if not second % 50:
            reports(shared, second + 1, job=THEIRS)
    window = shared.window(now=200)
    assert [5.0] == window.host_interval.tolist()
    assert [after(195)] == window.host_last_received.tolist()
    assert [-np.inf] == window.host_returned.tolist()


@pytest.mark.parametrize("goes_on", [None, OURS])
def test_a_host_lives_as_long_as_its_agent_or_the_job_itself_reports(shared, after, goes_on):
    for second in range(0, 20, 5):
        shared.report(second)
    for second in range(20, 200, 20):
        reports(shared, second, job=goes_on)
    window = shared.window(now=200)
    assert [after(180)] == window.host_last_received.tolist()
    assert 20.0 == pytest.approx(window.host_interval[0], abs=1.0)


def test_an_attempt_that_follows_still_has_the_hosts_of_the_one_before(valid, after):
    valid.info(0, attempt=None, **{"process.start_time": 1_700_000_000})
    valid.step(0, 0, 1, attempt=None)
    valid.info(0, at=100, attempt=None, now=100, **{"process.start_time": 1_700_000_090})
    window = valid.window(now=100)
    assert (1, [after(100)]) == (window.attempt, window.host_last_received.tolist())


TEMPERATURE = ("hw.temperature", 60.0)
PAIRS = {"hw.id": "GPU-1", "hw.sensor": "gpu"}


def read(valid, second, *, job, **more):
    valid.metrics((*TEMPERATURE, second, {**PAIRS, **more}), job=job, now=second)


def test_a_job_mends_no_device_of_which_its_node_reports(valid, after):
    device = entities.gpu("GPU-1", "host-a")
    read(valid, 0, job=None)
    valid.info(0, 50, job=THEIRS, **{"hw.id": "GPU-1"})
    read(valid, 50, job=THEIRS)
    read(valid, 50, job=THEIRS, rank=0)
    assert after(0) == devices.last_seen(valid.windows, device, after(60))
    found = nodes.node(valid.windows, "host-a")
    assert found is not None
    shown = [one.at for one in found.devices["GPU-1"].readings if one.metric == TEMPERATURE[0]]
    assert [after(0)] == shown
    read(valid, 70, job=None)
    assert after(70) == devices.last_seen(valid.windows, device, after(80))


def test_of_a_device_that_jobs_alone_report_their_word_counts(valid, after):
    device = entities.gpu("GPU-1", "host-a")
    read(valid, 0, job=OURS)
    read(valid, 50, job=THEIRS)
    assert after(50) == devices.last_seen(valid.windows, device, after(60))


LABELS = {"rankscope_job_source": "labels"}


def test_what_labels_give_to_a_job_is_never_the_nodes(valid):
    """Whoever may send for the job may name any host and device."""
    known = "GPU-5c1a1f3e-0000-4000-8000-00000000"
    for host in ("host-a", "host-b"):
        pairs = {"hw.id": known, "hw.sensor": "gpu"}
        valid.metrics((*TEMPERATURE, 0, pairs), job=THEIRS, host=host, **LABELS)
    assert [] == valid.windows.of_node("host-b", nodes.nothing)
    found = valid.windows.of_node("host-b", nodes.everything)
    assert [known] == [device for _, _, device in found]


def test_a_host_reports_as_often_as_the_quicker_of_node_and_job(shared):
    """Exporters that are asked each minute beside a probe of each 5 s: its steps come each 5 s."""
    for second in range(0, 300, 5):
        shared.report(second, node=second % 60 == 0)
    window = shared.window()
    assert 5.0 == pytest.approx(window.host_interval[0], rel=0.1)
    assert 60.0 == pytest.approx(window.host_rarer[0], rel=0.1)
    assert [-np.inf] == window.host_returned.tolist()


def test_where_the_job_says_nothing_more_the_node_says_how_often(shared):
    """A job that pauses is no host that fell silent."""
    for second in range(0, 100, 5):
        shared.report(second, node=second % 20 == 0)
    for second in range(100, 220, 20):
        usage: tuple[str, float, float, dict[str, str]] = (
            "system.cpu.utilization",
            0.5,
            second,
            {},
        )
        shared.metrics(usage, job=None, now=second)
    assert 20.0 == pytest.approx(shared.window().host_interval[0], rel=0.1)
