"""Devices of scraped clusters: in jobs by labels, out of them again, and silent by their times."""

import pickle

import numpy as np
import pytest

from rankscope.collector.windows import TelemetryWindows
from rankscope.formats.otlp import encode
from rankscope.formats.otlp.columns import SeriesTable
from rankscope.formats.otlp.decode import MetricsDecoder
from rankscope.formats.remote_write import RemoteWriteDecoder, WriteRequest
from rankscope.formats.remote_write.encode import encoded_labels
from rankscope.vocabulary.samples import Sample, TelemetryResource, attributes

START = 1_790_000_000.0


class Cluster:
    """What a Prometheus sends of some devices: (host, gpu) -> pod, "" where none has it."""

    def __init__(self):
        self.table = SeriesTable()
        self.windows = TelemetryWindows(self.table)
        self.decoder = RemoteWriteDecoder(self.table)

    def scrape(self, pods, at, *, late=2.0, space=""):
        request = WriteRequest()
        for (host, gpu), pod in pods.items():
            labels = {
                "__name__": "DCGM_FI_DEV_GPU_TEMP", "Hostname": host, "gpu": str(gpu),
                "UUID": f"GPU-{host}-{gpu}", "exported_pod": pod, "exported_namespace": space,
            }  # fmt: skip
            request.add(encoded_labels(labels), int((START + at) * 1000), 60.0)
        self.windows.metrics(self.decoder.plain(request.body()), START + at + late)

    def devices(self, job):
        attempt = self.windows.attempt(job)
        return [hw_id for hw_id in attempt.placements.hw_ids if hw_id] if attempt else []


@pytest.fixture
def cluster():
    return Cluster()


def everywhere(pod, hosts=("a", "b")):
    return {(host, gpu): pod for host in hosts for gpu in range(2)}


def test_devices_stand_in_for_ranks_in_order(cluster):
    cluster.scrape(everywhere("run-worker-0"), 0)
    window = cluster.windows.window(cluster.windows.attempt("run"), START + 3)
    assert window.hosts == ("a", "b")
    assert window.hw_ids == ("GPU-a-0", "GPU-a-1", "GPU-b-0", "GPU-b-1")
    assert window.ranks.tolist() == [0, 1, 2, 3]
    assert window.of_ranks("hw.temperature|gpu").latest()[0].tolist() == [60.0] * 4


def test_devices_without_a_job_are_watched_together(cluster):
    cluster.scrape(everywhere(""), 0)
    assert cluster.devices("unassigned") == ["GPU-a-0", "GPU-a-1", "GPU-b-0", "GPU-b-1"]


def test_a_device_leaves_a_job_when_another_one_has_it(cluster):
    cluster.scrape(everywhere("one-0"), 0)
    cluster.scrape({**everywhere("one-0", "a"), **everywhere("two-0", "b")}, 15)
    assert cluster.devices("one") == ["GPU-a-0", "GPU-a-1"]
    assert cluster.devices("two") == ["GPU-b-0", "GPU-b-1"]


def test_a_device_that_comes_back_is_in_its_job_again(cluster):
    """A pod of the same name, as of a StatefulSet: its series are known already."""
    for at, pod in enumerate(("one-0", "", "one-0", "", "one-0")):
        cluster.scrape(everywhere(pod), 15.0 * at)
    assert len(cluster.devices("one")) == 4
    assert cluster.devices("unassigned") == []


def test_a_device_that_two_pods_share_stays_in_both_jobs(cluster):
    for at in range(4):
        cluster.scrape({("a", 0): "one-0", ("a", 1): "one-0"}, 15.0 * at)
        cluster.scrape({("a", 0): "two-0"}, 15.0 * at + 1)
    assert "GPU-a-0" in cluster.devices("one")
    assert "GPU-a-0" in cluster.devices("two")


def test_an_agents_word_stands_above_labels(cluster):
    """Once `training.rank.info` comes, ranks are what it reports, and readings join them."""
    cluster.scrape(everywhere("one-0"), 0)
    informed(cluster, "one", 5)
    cluster.scrape(everywhere("one-0"), 15)
    attempt = cluster.windows.attempt("one")
    assert attempt.informed
    window = cluster.windows.window(attempt, START + 18)
    assert window.ranks.tolist() == [0, 1, 2, 3]
    assert window.of_ranks("hw.temperature|gpu").latest()[0].tolist() == [60.0] * 4


def informed(cluster, job, at, hosts="ab"):
    """Let an agent on each host report the ranks of two devices."""
    decoder = MetricsDecoder(cluster.table)
    for number, host in enumerate(hosts):
        info = [
            Sample("training.rank.info", 1.0, START + at, attributes({
                "rank": 2 * number + gpu, "world_size": 4, "pid": 7 + gpu,
                "hw.id": f"GPU-{host}-{gpu}",
            }))
            for gpu in range(2)
        ]  # fmt: skip
        body = encode.metrics_request([(TelemetryResource(host, job), info)])
        cluster.windows.metrics(decoder.protobuf(body), START + at + 0.5)


@pytest.mark.parametrize("first", ["labels", "agent"])
def test_a_job_that_labels_name_behind_its_namespace_is_the_one_whose_ranks_have_its_devices(
    cluster, first
):
    for at in range(0, 60, 15):
        if first == "labels" or at:
            cluster.scrape(everywhere("one-0"), at, space="train")
        if first == "agent" or at:
            informed(cluster, "one", at + 5)
    assert [] == cluster.devices("train/one")
    listed = [one.job for one in cluster.windows.current()]
    assert ["one", "train/one"][: 1 + (first == "labels")] == listed
    window = cluster.windows.window(cluster.windows.attempt("one"), START + 50)
    assert window.ranks.tolist() == [0, 1, 2, 3]
    assert window.of_ranks("hw.temperature|gpu").latest()[0].tolist() == [60.0] * 4


@pytest.mark.parametrize(
    ("job", "hosts"),
    [
        pytest.param("one", "cd", id="a job of that name on other hosts"),
        pytest.param("two", "ab", id="another job on these devices"),
    ],
)
def test_jobs_of_two_namespaces_stay_two(cluster, job, hosts):
    for at in range(0, 60, 15):
        cluster.scrape(everywhere("one-0"), at, space="train")
        informed(cluster, job, at + 5, hosts)
    assert 4 == len(cluster.devices("train/one"))
    assert [f"GPU-{host}-{gpu}" for host in hosts for gpu in range(2)] == cluster.devices(job)


def test_silence_is_judged_by_times_and_not_by_arrival(cluster):
    """A backlog of what was scraped before a host was lost does not bring it back."""
    for at in range(0, 60, 15):
        cluster.scrape(everywhere("one-0"), at)
    for at in range(60, 150, 15):
        cluster.scrape(everywhere("one-0", "a"), at)
    cluster.scrape(everywhere("one-0", "b"), 46, late=100.0)
    window = cluster.windows.window(cluster.windows.attempt("one"), START + 150)
    a, b = (START + 150 - window.host_last_received).tolist()
    assert a < 20
    assert b > 80
    assert window.host_interval.tolist() == pytest.approx([15.0, 15.0], abs=0.5)


def test_a_lag_that_all_share_is_nobodys_silence(cluster):
    for at in range(0, 150, 15):
        cluster.scrape(everywhere("one-0"), at, late=50.0)
    window = cluster.windows.window(cluster.windows.attempt("one"), START + 186)
    assert (START + 186 - window.host_last_received <= 15).all()


def test_all_of_it_outlives_a_restart(cluster):
    cluster.scrape(everywhere("one-0"), 0)
    cluster.windows = pickle.loads(pickle.dumps(cluster.windows))  # noqa: S301
    cluster.table = cluster.windows.table
    cluster.decoder = RemoteWriteDecoder(cluster.table)
    cluster.scrape({**everywhere("one-0", "a"), **everywhere("two-0", "b")}, 15)
    assert cluster.devices("one") == ["GPU-a-0", "GPU-a-1"]
    assert np.isfinite(cluster.windows.attempt("two").last_received)


def test_jobs_of_two_clusters_with_one_id_are_two_jobs(cluster):
    request = WriteRequest()
    for name in ("east", "west"):
        labels = {
            "__name__": "DCGM_FI_DEV_GPU_TEMP", "Hostname": f"{name}-a", "gpu": "0",
            "UUID": f"GPU-{name}", "exported_pod": "run-worker-0", "cluster": name,
        }  # fmt: skip
        request.add(encoded_labels(labels), int(START * 1000), 60.0)
    cluster.windows.metrics(cluster.decoder.plain(request.body()), START + 2)
    assert cluster.devices("run") == ["GPU-east"]
    assert cluster.devices("run@west") == ["GPU-west"]
    assert cluster.windows.attempt("run@west").cluster == "west"


IDS = ("GPU-5c1a1f3e-0000-4000-8000-00000000", "GPU-5c1a1f3e-0001-4000-8000-00000001")


def twice(cluster, at, *, pods=("run-worker-0", "run-worker-0"), hosts=("a", "a")):
    """Two exporters show the same two devices, one a moment after the other."""
    for number, (pod, host) in enumerate(zip(pods, hosts, strict=True)):
        request = WriteRequest()
        for gpu in range(2):
            labels = {
                "__name__": "DCGM_FI_DEV_GPU_TEMP", "Hostname": host, "gpu": str(gpu),
                "UUID": IDS[gpu], "exported_pod": pod, "instance": f"exporter-{number}:9400",
            }  # fmt: skip
            request.add(encoded_labels(labels), int((START + at + number) * 1000), 60.0 + at)
        cluster.windows.metrics(cluster.decoder.plain(request.body()), START + at + 2)


def test_a_device_that_two_exporters_report_is_one_device(cluster):
    for at in (0, 15, 30):
        twice(cluster, at)
    assert cluster.devices("run") == [*IDS]
    window = cluster.windows.window(cluster.windows.attempt("run"), START + 33)
    assert window.of_ranks("hw.temperature|gpu").latest()[0].tolist() == [90.0, 90.0]


def test_of_two_exporters_the_one_that_names_the_job_counts(cluster):
    """One runs without the mapping of pods: its devices are not taken out of the job by it."""
    for at in (0, 15, 30):
        twice(cluster, at, pods=("run-worker-0", ""))
    for at in (45, 60):
        twice(cluster, at, pods=("run-worker-0", ""))
        assert cluster.devices("run") == [*IDS]
        assert cluster.devices("unassigned") == []


def test_two_exporters_that_name_the_host_differently_report_one_device(cluster):
    for at in (0, 15, 30):
        twice(cluster, at, hosts=("a", "10.0.0.1"))
    assert cluster.devices("run") == [*IDS]
