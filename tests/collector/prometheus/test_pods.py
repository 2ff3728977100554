"""The job of a device by what kube-state-metrics says of its pod."""

import json

import pytest

from rankscope.collector.prometheus import matrices
from rankscope.collector.prometheus.asking import QueryResult, RangeResult
from rankscope.collector.prometheus.reading import StoreReading
from rankscope.collector.settings.prometheus import PrometheusSettings
from rankscope.formats.otlp.columns import SeriesTable
from rankscope.formats.remote_write import RemoteWriteDecoder

NOW = 1_790_000_000.0
NAME = "label_training_kubeflow_org_job_name"


class Store:
    """Answers like a Prometheus that scrapes dcgm-exporter and kube-state-metrics."""

    def __init__(self):
        self.asked = []
        self.pods = ["llama-worker-0", "llama-worker-1"]
        self.known: dict[str, list[dict[str, str]]] = {"kube_pod_labels": [], "kube_pod_owner": []}

    def label(self, pod, **labels):
        row = {"namespace": "train", "pod": pod, "uid": "1", **labels}
        self.known["kube_pod_labels"].append(row)

    def owned(self, pod, kind, name):
        row = {"exported_namespace": "train", "exported_pod": pod, "pod": "ksm-0"}
        self.known["kube_pod_owner"].append({**row, "owner_kind": kind, "owner_name": name})

    def query(self, expression, at):
        self.asked.append(expression)
        if expression.startswith("count"):
            names = {"DCGM_FI_DEV_GPU_TEMP": 2}
            names |= {name: len(rows) for name, rows in self.known.items() if rows}
            return QueryResult(
                [
                    {"metric": {"__name__": name}, "value": [0, str(count)]}
                    for name, count in names.items()
                    if name in expression
                ]
            )
        if "kube_pod" in expression:
            return QueryResult(
                [
                    {"metric": {"__name__": name, **row}, "value": [0, "1"]}
                    for name, rows in self.known.items()
                    if name in expression
                    for row in rows
                ]
            )
        raise ValueError(f"not asked by anybody: {expression}")

    def samples(self, selector, at):
        self.asked.append(selector)
        rows = [
            {
                "metric": {
                    "__name__": "DCGM_FI_DEV_GPU_TEMP", "Hostname": f"gpu-{number}", "gpu": "0",
                    "UUID": f"GPU-{number}", "exported_namespace": "train", "exported_pod": pod,
                },
                "values": [[at - 1, "60"]],
            }
            for number, pod in enumerate(self.pods)
        ]  # fmt: skip
        _, found = matrices.split(json.dumps({"data": {"result": rows}}).encode())
        assert found is not None
        return RangeResult(found)


@pytest.fixture
def store():
    return Store()


def jobs(reading, at=NOW):
    """Return the jobs that the devices of a poll belong to."""
    table = SeriesTable()
    decoder = RemoteWriteDecoder(table)
    stretch = reading.read(at - 15, at)
    reading.taken(stretch)
    for body in stretch.bodies():
        decoder.plain(body)
    return sorted({resource.job for resource in table.resources})


def reading_of(store):
    return StoreReading(PrometheusSettings(url="http://store"), store)


def test_a_job_has_the_name_that_its_pods_are_labelled_with(store):
    for pod in store.pods:
        store.label(pod, **{NAME: "llama-70b-pretrain"})
    assert jobs(reading_of(store)) == ["train/llama-70b-pretrain"]


def test_the_owner_names_the_job_where_no_label_does(store):
    for pod in store.pods:
        store.owned(pod, "Job", "llama-run-7")
    assert jobs(reading_of(store)) == ["train/llama-run-7"]


def test_an_owner_that_is_no_job_names_none(store):
    """A ReplicaSet's name says less than the pod's own, without what tells its pods apart."""
    for pod in store.pods:
        store.owned(pod, "ReplicaSet", "llama-5d4f7c")
    assert jobs(reading_of(store)) == ["train/llama"]


def test_without_kube_state_metrics_nothing_is_asked(store):
    assert jobs(reading_of(store)) == ["train/llama"]
    assert not [query for query in store.asked if "kube_pod" in query and "count" not in query]


def test_a_pod_is_asked_about_once_and_a_new_one_when_it_comes(store):
    for pod in store.pods:
        store.label(pod, **{NAME: "one"})
    reading = reading_of(store)
    jobs(reading)
    jobs(reading, NOW + 15)
    asked = [query for query in store.asked if query.startswith('{__name__=~"kube_pod')]
    assert len(asked) == 1
    store.pods.append("other-worker-0")
    store.label("other-worker-0", **{NAME: "two"})
    assert jobs(reading, NOW + 30) == ["train/one", "train/two"]
    assert 'pod=~"other-worker-0"' in store.asked[-1]


def test_a_pod_that_is_labelled_later_moves_to_its_job(store):
    store.label("elsewhere", **{NAME: "x"})
    reading = reading_of(store)
    assert jobs(reading) == ["train/llama"]
    for pod in store.pods:
        store.label(pod, **{NAME: "named"})
    assert jobs(reading, NOW + 615) == ["train/named"]
