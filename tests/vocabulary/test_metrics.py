"""The metric catalogue, and each metric's name in Prometheus form."""

import re

import pytest
from tests.examples import told

from rankscope.vocabulary import metrics
from rankscope.vocabulary.metrics import ContractMetric

CATALOGUE = metrics.catalogue()
UNITS = {"s", "By", "By/s", "Cel", "W", "J", "Hz", "V", "1"}


def test_a_metric_is_spelled_as_the_contract_spells():
    for metric in CATALOGUE.values():
        with told(metric=metric.name):
            assert re.fullmatch(r"[a-z][a-z0-9]*([._][a-z0-9]+)+", metric.name)
            assert metric.unit in UNITS or re.fullmatch(r"\{[a-z]+\}(/s)?", metric.unit)
            assert metric.kind in ("gauge", "counter")
            assert metric.cadence in ("step", "period", "info", "sample")
            assert metric.help.strip() == metric.help != ""
            assert not metric.help.endswith(".")


def test_closed_sets_belong_to_attributes_it_has():
    for metric in CATALOGUE.values():
        with told(metric=metric.name):
            assert not set(metric.attributes) & set(metric.optional)
            assert set(metric.values) <= {*metric.attributes, *metric.optional}
            for values in metric.values.values():
                assert sorted(set(values)) == sorted(values)


def test_what_section_2_of_the_contract_names_is_there():
    for name in (
        "training.rank.info", "training.progress.age", "training.step", "training.loss",
        "training.grad_norm", "training.nonfinite", "training.learning_rate",
        "training.loss_scale", "training.tokens", "training.step.duration",
        "training.data.duration", "training.compute.duration", "training.comm.duration",
        "training.optimizer.duration", "training.checkpoint.duration", "training.gc.duration",
        "training.memory.allocated", "training.memory.reserved", "training.memory.retries",
        "collective.group.info", "collective.enqueued", "collective.started",
        "collective.completed", "collective.launches", "collective.count", "collective.duration",
        "collective.duration.max", "collective.size", "collective.bus_bandwidth",
        "collective.op.duration", "hw.gpu.utilization", "hw.gpu.throttle", "hw.errors",
        "hw.status", "hw.temperature", "hw.power", "hw.energy", "hw.frequency",
        "system.cpu.utilization", "system.cpu.steal", "container.cpu.throttled",
        "system.clock.offset", "process.memory.usage", "process.memory.private",
        "process.cpu.utilization", "process.cpu.wait", "hw.network.info", "hw.network.up",
        "hw.network.io", "hw.network.errors", "hw.network.congestion",
    ):  # fmt: skip
        assert name in CATALOGUE


@pytest.mark.parametrize(
    "name",
    ["training.memory.retries", "collective.launches", "process.cpu.wait", "hw.energy",
     "container.cpu.throttled", "hw.network.errors"],
)  # fmt: skip
def test_what_the_contract_marks_as_cumulative_is_a_counter(name):
    assert "counter" == CATALOGUE[name].kind


def test_prometheus_names_are_unique():
    names = [metric.prometheus_name for metric in CATALOGUE.values()]
    assert sorted(set(names)) == sorted(names)


def test_prometheus_names_follow_prometheus_rules():
    for metric in CATALOGUE.values():
        with told(metric=metric.name):
            name = metric.prometheus_name
            assert re.fullmatch(r"[a-z_:][a-z0-9_:]*", name)
            assert "__" not in name
            assert ("counter" == metric.kind) == name.endswith("_total")
            assert name.startswith(metric.name.replace(".", "_"))


@pytest.mark.parametrize(
    ("metric", "name"),
    [
        ("training.step.duration", "training_step_duration_seconds"),
        ("training.step", "training_step"),
        ("training.memory.retries", "training_memory_retries_total"),
        ("process.cpu.wait", "process_cpu_wait_seconds_total"),
        ("process.memory.usage", "process_memory_usage_bytes"),
        ("hw.temperature", "hw_temperature_celsius"),
        ("hw.power", "hw_power_watts"),
        ("hw.energy", "hw_energy_joules_total"),
        ("hw.frequency", "hw_frequency_hertz"),
        ("hw.network.bandwidth.limit", "hw_network_bandwidth_limit_bytes_per_second"),
        ("hw.gpu.utilization", "hw_gpu_utilization"),
    ],
)
def test_prometheus_names_carry_their_unit(metric, name):
    assert name == CATALOGUE[metric].prometheus_name


def test_a_unit_that_the_name_ends_with_is_not_said_twice():
    assert "up_seconds" == ContractMetric("up.seconds", "s", "gauge", "period", "").prometheus_name


def test_attributes_that_tell_series_apart_are_never_labels_that_prometheus_keeps():
    for metric in CATALOGUE.values():
        assert not {"job", "instance", "le", "quantile"} & {*metric.attributes, *metric.optional}
