"""Every query on a real Prometheus that has scraped two real agents and a collector.

Eight GPUs of the driver's double on each node, sixteen ranks of the simulator in real time, one GPU
that grows hot, and what is rarer: a port down, a device lost, an error of memory.
"""

import operator
import re
import tempfile
import time
from pathlib import Path

import pytest
from tests.waiting import until

from bench.live import asking
from bench.live.cluster import LiveCluster
from bench.live.prometheus import PrometheusServer
from rankscope.dashboards.grafana import building
from rankscope.lab.demo.processes import DemoProcesses

pytestmark = [pytest.mark.programs, pytest.mark.timeout(900)]

LABEL = re.compile(r"\{\{(\w+)\}\}")
MOST_SERIES = 200
NOT_HERE = {
    ("Trainers held back", "B"): "container_cpu_throttled_seconds_total",
    ("Failures inside", "C"): "rankscope_collector_pipeline_failures_total",
    ("Readers that do not answer", "A"): "rankscope_agent_reader_up",
    ("Readers that do not answer", "B"): "rankscope_agent_reader_last_success_age_seconds",
}
"""Queries that find something only under a CPU quota, or where Rankscope itself is broken."""


class Live:
    def __init__(self, cluster, server):
        self.cluster = cluster
        self.server = server
        self.began = time.time()

    def span(self):
        now = time.time()
        return asking.QueryRange(self.began, now, step=2.0, scrape=1.0)

    def until(self, expression):
        """Wait until an expression finds something, and return it."""
        return until(lambda: self.server.query(expression), expression)

    def incident(self, fault):
        """Wait for the incident of the cluster's job with this first cause, return its series."""
        labels = f'fault="{fault}", job_id="{self.cluster.job}"'
        (found,) = self.until(f"rankscope_incident_active{{{labels}}}")
        return found


@pytest.fixture(scope="module")
def live(program, deployed):
    program("gcc")
    with tempfile.TemporaryDirectory(prefix="rs-", dir="/tmp") as name:
        folder = Path(name)
        with DemoProcesses(folder) as processes:
            cluster = LiveCluster(folder, processes, onset=10.0, period=1.0)
            try:
                cluster.start(seconds=600.0)
                server = PrometheusServer(
                    program("prometheus"),
                    folder / "prometheus",
                    processes,
                    targets=cluster.targets,
                    rules=sorted((deployed / building.RULES).glob("*.yml")),
                )
                one = Live(cluster, server)
                of_job = f'job_id="{cluster.job}"'  # the agents see jobs of others here too
                one.until(f"count(training_step_duration_seconds{{{of_job}}}) == 16")
                cluster.heat()
                cluster.break_things()
                one.incident("gpu.thermal_throttle")
                one.incident("network.nic_down")
                one.until("hw_network_up == 0")
                one.until('hw_gpu_count{state="failed"} == 1')
                one.until("rankscope_detector_score")
                one.until("rankscope_group_wait_seconds")
                one.until("training_checkpoint_duration_seconds")
                one.until('sum(increase(hw_errors_total{error_type="uncorrected"}[10m])) > 0')
                one.until("rankscope_incident_gpu_seconds_lost > 0")
                one.until("sum(rate(hw_gpu_nvlink_errors_total[10m])) > 0")
                one.until("sum(rate(hw_gpu_pcie_replays_total[10m])) > 0")
                one.until("sum(rate(process_cpu_wait_seconds_total[10m])) > 0")
                one.until("hw_gpu_pcie_width < 16")
                one.until("rankscope_collector_rejected_items_total")
                yield one
            finally:
                cluster.close()


def test_the_incident_names_the_hot_gpu_and_the_groups_wait_for_its_rank(live):
    host, place = live.cluster.hot
    found = live.incident("gpu.thermal_throttle")
    labels = found["metric"]
    assert (labels["host_name"], labels["entity_type"]) == (host, "gpu")
    assert labels["entity"] == live.cluster.nodes[1].devices[place]
    waits = f'rankscope_group_wait_seconds{{job_id="{live.cluster.job}"}}'
    (longest,) = live.until(f"topk(1, {waits})")
    assert (longest["metric"]["host_name"], longest["metric"]["rank"]) == (host, "13")
    assert live.until(f'rankscope_host_gpu_seconds_lost_total{{host_name="{host}"}} > 0')


def empty_queries(live, document, chosen):
    """Ask every query for each choice of variables; return those that find nothing for any."""
    span = live.span()
    found: dict[tuple[str, str], int] = {}
    sent: dict[tuple[str, str], str] = {}
    for choice in chosen:
        values = asking.values_of(document, live.server, span, choice)
        assert all(values.values()), values
        for asked in asking.targets(document, values, span):
            series = asking.answered(asked, live.server, span)
            assert len(series) <= MOST_SERIES, (asked, len(series))
            if asked.legend:
                legends = [asking.legend(asked, one["metric"]) for one in series]
                labels = {*LABEL.findall(asked.legend)}
                lacking = [labels - {*one["metric"]} for one in series]
                assert not any(lacking), (asked, lacking)
                assert len(legends) == len({*legends}), (asked, legends)
            place = (asked.panel, asked.ref)
            sent[place] = asked.expr
            found[place] = found.get(place, 0) + len(series)
    empty = {place: sent[place] for place, count in found.items() if not count}
    for place in [place for place in empty if place in NOT_HERE]:
        assert NOT_HERE[place] in empty.pop(place)
    return empty


@pytest.mark.parametrize("name", ["cluster", "job", "node", "network", "incident", "self"])
def test_every_query_returns_data_with_the_labels_of_its_legend(live, documents, name):
    incident = live.incident("gpu.thermal_throttle")
    port = live.incident("network.nic_down")
    chosen = [{"job": live.cluster.job}]
    if name == "node":
        chosen = [{"host": node.name} for node in live.cluster.nodes]
    if name == "incident":
        chosen = [{"incident": one["metric"]["incident"]} for one in (incident, port)]
    document = documents[f"rankscope-{name}"]
    # Some counters are read every half minute.
    until(lambda: empty_queries(live, document, chosen), "no query without data", operator.not_)


def test_variables_offer_values_and_annotations_find_the_incidents(live, documents):
    span = live.span()
    for document in documents.values():
        values = asking.values_of(document, live.server, span, {"job": live.cluster.job})
        for variable in document["templating"]["list"]:
            if variable["type"] == "query":
                offered = asking.label_values(variable, live.server, span, values)
                assert offered, (document["uid"], variable["name"])
        (annotation,) = document["annotations"]["list"]
        values |= {"host": live.cluster.hot[0]} if "host" in values else {}
        expression = asking.substituted(annotation["expr"], values)
        found = live.server.range(expression, span.start, span.end, 15.0)
        assert found, (document["uid"], expression)
        for label in LABEL.findall(annotation["titleFormat"]):
            assert all(label in one["metric"] for one in found)


def test_every_rule_is_evaluated_and_what_is_recorded_is_there(live, rules):
    def told():
        groups = live.server.ask("rules")["groups"]
        return [rule for group in groups for rule in group["rules"]]

    def unhealthy():
        return [(rule["name"], rule.get("lastError")) for rule in told() if rule["health"] != "ok"]

    until(unhealthy, "rules that are all evaluated, and healthy", operator.not_)
    assert len(rules) == len(told())
    for rule in rules:
        if "record" in rule:
            assert live.until(rule["record"])


def test_alerts_on_what_was_broken_fire_and_say_where_it_is(live):
    live.until('ALERTS{alertname="RankscopeIncidentCritical", alertstate="firing"}')
    live.until('ALERTS{alertname="RankscopeGpuMemoryUncorrectable", alertstate="firing"}')
    alerts = live.server.ask("alerts")["alerts"]
    texts = {text for one in alerts for text in one["annotations"].values()}
    host, _ = live.cluster.hot
    assert f"Uncorrectable memory error on GPU 2 of {host}" in texts
    assert [] == [text for text in texts if "<" in text]
