import math
import subprocess
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from rankscope.agent.attribution import DeviceAttribution
from rankscope.agent.dcgm_names import DcgmPage
from rankscope.agent.exposition import ExpositionPage
from rankscope.agent.health import AgentHealth, measures
from rankscope.agent.latest import LatestValues
from rankscope.vocabulary import metrics
from rankscope.vocabulary.samples import Sample, TelemetryResource, attributes

JOB = TelemetryResource(host="node-1", job="job-1", cluster="blue")


@pytest.fixture
def latest():
    return LatestValues(period_seconds=5.0)


def page(latest, health=None, *, groups=False, max_series=2000) -> bytes:
    shown = ExpositionPage(
        latest=latest, health=health or AgentHealth(), groups=groups, max_series=max_series
    )
    return shown.render(1.0)


def samples(body: bytes) -> dict[Any, float]:
    found: dict[Any, float] = {}
    for family in text_string_to_metric_families(body.decode()):
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            assert key not in found, f"{key} stands on the page twice"
            found[key] = sample.value
    return found


def ours(body: bytes) -> dict[Any, float]:
    return {
        key: value for key, value in samples(body).items() if not key[0].startswith("rankscope_")
    }


def test_names_units_and_labels_are_the_contracts(latest):
    pairs = attributes({"rank": 3, "quality": "exact"})
    latest.receive("a", JOB, [Sample("training.compute.duration", 0.25, 1.0, pairs)], 1.0)
    assert ours(page(latest)) == {
        (
            "training_compute_duration_seconds",
            (
                ("cluster", "blue"),
                ("host_name", "node-1"),
                ("job_id", "job-1"),
                ("quality", "exact"),
                ("rank", "3"),
            ),
        ): 0.25
    }


def test_counters_end_in_total_and_carry_their_type(latest):
    latest.read(
        "cpu",
        [(TelemetryResource(host="n"), Sample("system.cpu.steal", 2.0, 1.0))],
        period=5.0,
        now=1.0,
    )
    body = page(latest).decode()
    assert "# TYPE system_cpu_steal_seconds_total counter\n" in body
    assert 'system_cpu_steal_seconds_total{host_name="n"} 2.0\n' in body


def test_nan_and_infinity_are_shown_as_such(latest):
    mine = attributes({"rank": 0})
    latest.receive("a", JOB, [Sample("training.loss", math.nan, 1.0, mine)], 1.0)
    latest.receive("b", JOB, [Sample("training.grad_norm", math.inf, 1.0, mine)], 1.0)
    values = list(ours(page(latest)).values())
    assert math.isnan(values[0])
    assert math.isinf(values[1])


def test_a_pid_is_never_a_label_and_workers_are_added_up(latest):
    def worker(metric, pid, value):
        pairs = attributes({"pid": pid, "rank": 0, "role": "dataloader"})
        return (JOB, Sample(metric, value, 1.0, pairs))

    trainer = attributes({"pid": 1, "container.pid": 7, "rank": 0, "role": "trainer"})
    latest.read(
        "memory",
        [
            (JOB, Sample("process.memory.usage", 5.0, 1.0, trainer)),
            worker("process.memory.usage", 2, 10.0),
            worker("process.memory.usage", 3, 20.0),
            worker("process.cpu.wait", 2, 1.0),
        ],
        period=5.0,
        now=1.0,
    )
    found = ours(page(latest))
    by_role = {dict(labels)["role"]: value for (_, labels), value in found.items()}
    assert by_role == {"trainer": 5.0, "dataloader": 30.0}
    assert {name for name, _ in found} == {"process_memory_usage_bytes"}
    assert b"pid" not in page(latest).replace(b"_pid", b"")


def test_of_two_attempts_of_a_rank_the_newer_is_shown(latest):
    mine = attributes({"rank": 0})
    again = TelemetryResource(host="node-1", job="job-1", cluster="blue", attempt=1)
    latest.receive("new", again, [Sample("training.step", 1.0, 1.0, mine)], 0.5)
    latest.receive("old", JOB, [Sample("training.step", 900.0, 1.0, mine)], 1.0)
    assert list(ours(page(latest)).values()) == [1.0]


def test_collectives_are_shown_only_when_asked_for(latest):
    pairs = attributes({"rank": 0, "group": "dp:1"})
    latest.receive("a", JOB, [Sample("collective.completed", 5.0, 1.0, pairs)], 1.0)
    assert ours(page(latest)) == {}
    assert list(ours(page(latest, groups=True)).values()) == [5.0]


def test_single_operations_are_never_shown(latest):
    pairs = attributes({"rank": 0, "group": "dp:1", "op": "all_reduce", "seq": 7, "clock": "gpu"})
    latest.receive("a", JOB, [Sample("collective.op.duration", 5.0, 1.0, pairs)], 1.0)
    assert ours(page(latest, groups=True)) == {}


def test_a_sender_cannot_invent_a_label(latest):
    pairs = attributes({"rank": 0, "job": "mine", "instance": "x", "le": "1", "a-b": "c"})
    latest.receive("a", JOB, [Sample("training.loss", 1.0, 1.0, pairs)], 1.0)
    ((_, labels),) = ours(page(latest))
    assert {name for name, _ in labels} == {"cluster", "host_name", "job_id", "rank"}


def test_odd_characters_in_a_job_id_are_escaped(latest):
    odd = TelemetryResource(host="node-1", job='a "job" \\ of\nmine 训')
    latest.receive("a", odd, [Sample("training.loss", 1.0, 1.0)], 1.0)
    ((_, labels),) = ours(page(latest))
    assert dict(labels)["job_id"] == odd.job


def test_no_metric_of_the_vocabulary_has_a_label_called_job():
    labels = {
        name.replace(".", "_")
        for metric in metrics.catalogue().values()
        for name in (*metric.attributes, *metric.optional)
    }
    assert "job" not in labels


def test_series_beyond_the_bound_are_left_out_and_counted_and_health_stays(latest):
    for rank in range(30):
        mine = attributes({"rank": rank})
        latest.receive(rank, JOB, [Sample("training.loss", 1.0, 1.0, mine)], 1.0)
    health = AgentHealth()
    body = page(latest, health, max_series=20)
    assert len(ours(body)) == 20
    assert samples(body)[("rankscope_agent_series_dropped", ())] == 10


def test_series_of_single_links_are_the_first_to_be_left_out(latest):
    for link in range(30):
        pairs = attributes({"hw.id": "GPU-0", "gpu": 0, "link": link})
        latest.read(
            f"link{link}",
            [(JOB, Sample("hw.gpu.nvlink.up", 1.0, 1.0, pairs))],
            period=5.0,
            now=1.0,
        )
    whole = attributes({"hw.id": "GPU-0", "gpu": 0})
    latest.read("power", [(JOB, Sample("hw.power", 1.0, 1.0, whole))], period=5.0, now=1.0)
    names = [name for name, _ in ours(page(latest, max_series=5))]
    assert sorted(names) == ["hw_gpu_nvlink_up"] * 4 + ["hw_power_watts"]


def test_dcgms_names_come_first_and_count_as_series(latest):
    power = attributes({"hw.id": "GPU-0", "gpu": 0, "hw.vendor": "nvidia"})
    latest.read("power", [(JOB, Sample("hw.power", 1.0, 1.0, power))], period=5.0, now=1.0)
    shown = ExpositionPage(
        latest=latest,
        health=AgentHealth(),
        groups=False,
        max_series=2,
        dcgm_page=DcgmPage(names="old", host="node-1", attribution=DeviceAttribution()),
    )
    body = shown.render(1.0)
    assert {name for name, _ in ours(body)} == {"DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_XID_ERRORS"}
    assert samples(body)[("rankscope_agent_series_dropped", ())] == 1


def test_an_imitation_that_fails_costs_only_its_own_names(latest, monkeypatch):
    power = attributes({"hw.id": "GPU-0", "gpu": 0, "hw.vendor": "nvidia"})
    latest.read("power", [(JOB, Sample("hw.power", 1.0, 1.0, power))], period=5.0, now=1.0)
    dcgm_page = DcgmPage(names="old", host="node-1", attribution=DeviceAttribution())
    monkeypatch.delattr(dcgm_page, "_fields")
    health = AgentHealth()
    shown = ExpositionPage(
        latest=latest, health=health, groups=False, max_series=9, dcgm_page=dcgm_page
    )
    assert {name for name, _ in ours(shown.render(1.0))} == {"hw_power_watts"}
    assert health.counted("internal_errors") == 1


def test_health_counters_stand_on_the_page_from_the_start():
    body = page(LatestValues(period_seconds=5.0))
    assert samples(body)[("rankscope_agent_datagrams_lost_total", ())] == 0


def test_ages_grow_until_something_happens_again():
    health = AgentHealth()
    health.happened("push_last_success", 0.25)
    body = page(LatestValues(period_seconds=5.0), health)
    assert samples(body)[("rankscope_agent_push_last_success_age_seconds", ())] == 0.75


def _all_health() -> AgentHealth:
    """Return health in which every metric has a value."""
    health = AgentHealth()
    for name, measure in measures().items():
        health._values[name][("x",) * len(measure.labels)] = 1.0
    return health


@pytest.mark.programs
def test_promtool_accepts_every_metric_the_agent_can_show(latest, program):
    everything = [
        Sample(
            metric.name,
            1.0,
            1.0,
            attributes(dict.fromkeys((*metric.attributes, *metric.optional), "x")),
        )
        for metric in metrics.catalogue().values()
        if metric.cadence != "sample"
    ]
    latest.receive("a", JOB, everything, 1.0)
    body = page(latest, _all_health(), groups=True)
    assert len(ours(body)) == len(everything)
    assert all(name.encode() in body for name in measures())
    checked = subprocess.run(
        [program("promtool"), "check", "metrics"], input=body, capture_output=True, check=False
    )
    assert checked.stdout + checked.stderr == b""
    assert checked.returncode == 0


def test_what_is_shown_no_more_is_not_kept_for_ever(latest):
    shown = ExpositionPage(latest=latest, health=AgentHealth(), groups=False, max_series=2000)
    for number in range(2000):
        mine = attributes({"hw.id": f"GPU-{number}", "gpu": 0, "hw.vendor": "nvidia"})
        reading = [(TelemetryResource(host="n"), Sample("hw.power", 1.0, 1.0, mine))]
        latest.read("gpu_power", reading, period=5.0, now=1.0)
        body = shown.render(1.0)
    assert b'hw_id="GPU-1999"' in body
    assert len(shown._prefixes) < 300
