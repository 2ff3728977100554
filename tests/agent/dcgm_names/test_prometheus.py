"""The queries of an ordinary dcgm-exporter dashboard and its alerts, on a real Prometheus."""

import subprocess
import threading
import time
from functools import partial

import pytest

from rankscope.agent.attribution import DeviceAttribution
from rankscope.agent.attribution.pod_resources import AllocatedDevice
from rankscope.agent.dcgm_names import DcgmPage
from rankscope.agent.exposition import ExpositionPage
from rankscope.agent.health import AgentHealth
from rankscope.agent.latest import LatestValues
from rankscope.agent.scraping import ScrapeServer
from rankscope.vocabulary.samples import Sample, TelemetryResource, attributes

pytestmark = pytest.mark.programs

NODE = TelemetryResource(host="n1")
XID = attributes({"hw.id": "GPU-3", "gpu": 3, "hw.vendor": "nvidia"})


class Serving:
    """A page of eight devices, of which six are held by pods and GPU 3 met XID 79."""

    def __init__(self, gpu, names):
        self._gpu = gpu
        self._latest = LatestValues(period_seconds=60.0)
        self._attribution = DeviceAttribution()
        self._dcgm_page = DcgmPage(names=names, host="n1", attribution=self._attribution)
        self.page = ExpositionPage(
            latest=self._latest,
            health=AgentHealth(),
            groups=False,
            max_series=2000,
            dcgm_page=self._dcgm_page,
        )
        self._stop = threading.Event()
        self._turns = 0
        self.turn()
        self._scraping = ScrapeServer("127.0.0.1:0", page=self.page, now=time.time)
        self.port = self._scraping.port
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def turn(self):
        """Read all devices once: energy grows, and from the third turn there is an XID."""
        now = time.time()
        self._turns += 1
        samples = [
            Sample(one.metric, one.value + 70.0 * self._turns, now, one.attributes)
            if one.metric == "hw.energy"
            else one
            for index in range(8)
            for one in self._gpu(index, at=now)
        ]
        if self._turns > 2:
            samples.append(Sample("hw.gpu.fault.last", 79.0, now, XID))
        self._attribution.observe(samples)
        self._dcgm_page.observe(samples)
        facts = self._attribution.facts([], now)
        given = [
            AllocatedDevice("ml", f"job-{index}", "train", "nvidia.com/gpu", f"GPU-{index}")
            for index in range(6)
        ]
        self._attribution.update(facts, given=given, memberships={}, names={}, jobs={})
        self._latest.read("gpus", [(NODE, one) for one in samples], period=60.0, now=now)

    def close(self):
        self._stop.set()
        self._thread.join(60)
        self._scraping.close()

    def _run(self):
        while not self._stop.wait(0.1):
            self.turn()


@pytest.fixture
def serve(gpu):
    serving = []

    def start(names):
        serving.append(Serving(gpu, names))
        return serving[-1]

    yield start
    for one in serving:
        one.close()


OLD = {
    # the panels of the common dashboard for dcgm-exporter
    'DCGM_FI_DEV_GPU_TEMP{instance=~"$i", gpu=~".*"}': 8,
    'avg(DCGM_FI_DEV_GPU_TEMP{instance=~"$i", gpu=~"0|1"})': 1,
    'DCGM_FI_DEV_POWER_USAGE{instance=~"$i", gpu=~".*"}': 8,
    'sum(DCGM_FI_DEV_POWER_USAGE{instance=~"$i"})': 1,
    'DCGM_FI_DEV_SM_CLOCK{instance=~"$i"} * 1000000': 8,
    'DCGM_FI_DEV_GPU_UTIL{instance=~"$i"}': 8,
    'DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{instance=~"$i"}': 8,
    'DCGM_FI_DEV_FB_USED{instance=~"$i"}': 8,
    'label_replace(DCGM_FI_DEV_GPU_UTIL, "node", "$1", "Hostname", "(.+)")': 8,
    # by pod and namespace
    'sum by (namespace) (DCGM_FI_DEV_GPU_UTIL{namespace!=""})': 1,
    'avg by (namespace, pod, container) (DCGM_FI_DEV_GPU_UTIL{exported_pod="", pod=~"job-.+"})': 6,
    'count(DCGM_FI_DEV_GPU_UTIL{pod=""})': 1,
    "sum by (pod) (DCGM_FI_DEV_FB_USED / (DCGM_FI_DEV_FB_USED + DCGM_FI_DEV_FB_FREE))": 7,
    'sum by (modelName, Hostname) (DCGM_FI_DEV_FB_FREE{modelName=~"NVIDIA.+"})': 1,
    'count by (DCGM_FI_DRIVER_VERSION) (DCGM_FI_DEV_GPU_TEMP{Hostname="n1"})': 1,
    'DCGM_FI_DEV_GPU_UTIL{UUID="GPU-5", device="nvidia5", pci_bus_id="00000000:0C:00.0"}': 1,
    # rates
    "rate(DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION[1m]) > 0": 8,
    "rate(DCGM_FI_DEV_PCIE_REPLAY_COUNTER[1m]) == 0": 8,
    # alerts
    "DCGM_FI_DEV_XID_ERRORS > 0": 1,
    "DCGM_FI_DEV_XID_ERRORS == 79": 1,
    "DCGM_FI_DEV_ROW_REMAP_PENDING > 0": 8,
    "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS > 0": 8,
    "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL > 0": 8,
    "DCGM_FI_DEV_THERMAL_VIOLATION > 0": 8,
    'DCGM_EXP_CLOCK_EVENTS_COUNT{clock_event="hw_thermal"} > 0': 8,
    # our own names stay
    'hw_gpu_utilization{gpu="0"}': 1,
}
"""Queries, and how many series each has to return."""

NEW = {
    'DCGM_FI_DEV_GPU_TEMP_CELSIUS{hostname="n1"}': 8,
    'sum by (hostname) (DCGM_FI_DEV_BOARD_POWER_WATTS{pod=~"job-.+"})': 1,
    "avg by (gpu) (DCGM_FI_DEV_GPU_UTIL_RATIO) <= 1": 8,
    "DCGM_FI_DEV_FB_USED_BYTES / DCGM_FI_DEV_FB_CAPACITY_BYTES": 8,
    "rate(DCGM_FI_DEV_GPU_ENERGY_JOULES_TOTAL[1m]) > 0": 8,
    "DCGM_FI_DEV_SM_CLOCK_HERTZ > 1e9": 8,
    "DCGM_FI_PROF_TENSOR_UTIL_RATIO": 8,
    "DCGM_FI_DEV_XID_ERROR > 0": 1,
    "DCGM_FI_DEV_NVLINK_THROUGHPUT_BYTES_PER_SECOND": 8,
}


@pytest.mark.parametrize(
    ("names", "queries"), [("old", OLD), ("new", NEW), ("both", {**OLD, **NEW})]
)
def test_queries_of_dashboards_and_alerts_return_data(serve, prometheus, until, names, queries):
    port = serve(names).port
    page = {"targets": [f"127.0.0.1:{port}"]}
    ask = prometheus([{"job_name": "dcgm", "static_configs": [page]}])
    gauge = "DCGM_FI_DEV_XID_ERRORS" if names != "new" else "DCGM_FI_DEV_XID_ERROR"
    until(lambda: ask(f"{gauge} == 79"))
    # Every sample that was scraped has been stored: none is a duplicate, none out of order.
    until(lambda: ask("scrape_samples_scraped > 0 == scrape_samples_post_metric_relabeling"))
    for query, series in queries.items():
        asked = query.replace("$i", f"127.0.0.1:{port}")
        until(partial(ask, asked), asked, lambda found, series=series: len(found) == series)
    until(lambda: ask("up == 1"))  # a busy machine may miss a scrape


def test_sums_are_in_dcgms_units(serve, prometheus, until):
    page = {"targets": [f"127.0.0.1:{serve('old').port}"]}
    ask = prometheus([{"job_name": "dcgm", "static_configs": [page]}])
    (power,) = until(lambda: ask("sum(DCGM_FI_DEV_POWER_USAGE)"))
    assert float(power["value"][1]) == pytest.approx(8 * 612.345679)
    (clock,) = until(lambda: ask('DCGM_FI_DEV_SM_CLOCK{gpu="0"} * 1000000'))
    assert clock["value"][1] == "1755000000"
    (mebibytes,) = until(lambda: ask("sum(DCGM_FI_DEV_FB_USED)"))
    assert mebibytes["value"][1] == str(8 * 60 * 1024)


def test_promtool_reads_all_of_it_and_only_dislikes_names(serve, program):
    body = serve("both").page.render(time.time())
    checked = subprocess.run(
        [program("promtool"), "check", "metrics"], input=body, capture_output=True, check=False
    )
    of_names = ("suffix", "should not include type", "abbreviated", "not 'camelCase'")
    complaints = checked.stderr.decode().splitlines()
    assert [line for line in complaints if not any(text in line for text in of_names)] == []
    assert [line for line in complaints if not line.startswith("DCGM_")] == []
    assert checked.stdout == b""
