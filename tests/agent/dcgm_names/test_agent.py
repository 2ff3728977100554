"""A whole agent in dcgm-exporter's place: the driver's stub, a kubelet, one page."""

import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.agent.kubelet import Kubelet, training_pod

from rankscope.lab.node.nvml import NvmlScenario, gpu_uuid

pytestmark = pytest.mark.programs


@pytest.fixture
def driver(tmp_path, monkeypatch, program):
    program("gcc")
    scenario = NvmlScenario(tmp_path / "driver")
    for name, value in scenario.environment().items():
        monkeypatch.setenv(name, value)
    return scenario


def test_an_agent_shows_pods_and_xids_as_dcgm_exporter_does(driver, folder, run_agent, until):
    with Kubelet(folder / "kubelet.sock", [training_pod("job-3", [gpu_uuid(3)])]) as kubelet:
        agent = run_agent(
            export={"dcgm_names": "both", "max_series": 5000},
            attribution={"kubelet_socket": str(kubelet.path), "period_seconds": 0.3},
        )

        def series(name: str) -> dict[str, tuple[dict[str, str], float]]:
            url = f"http://127.0.0.1:{agent.port}/metrics"
            with urllib.request.urlopen(url, timeout=60) as answer:
                page = answer.read().decode()
            return {
                sample.labels["gpu"]: (sample.labels, sample.value)
                for family in text_string_to_metric_families(page)
                for sample in family.samples
                if sample.name == name
            }

        until(lambda: len(series("DCGM_FI_DEV_GPU_TEMP")) == 8)
        until(lambda: "pod" in series("DCGM_FI_DEV_GPU_TEMP")["3"][0])
        labels, value = series("DCGM_FI_DEV_GPU_TEMP")["3"]
        assert (labels["namespace"], labels["pod"], labels["container"]) == ("ml", "job-3", "train")
        assert (labels["UUID"], labels["Hostname"]) == (gpu_uuid(3), "node-1")
        assert labels["modelName"].startswith("NVIDIA H100")
        assert 0 < value < 100
        assert "pod" not in series("DCGM_FI_DEV_GPU_TEMP")["4"][0]
        assert series("DCGM_FI_DEV_GPU_TEMP_CELSIUS")["3"][0]["hostname"] == "node-1"
        until(lambda: "3" in series("hw_gpu_allocation"))
        assert series("hw_gpu_allocation")["3"][0]["k8s_pod_name"] == "job-3"
        assert series("DCGM_FI_DEV_XID_ERRORS")["3"][1] == 0
        driver.xid(3, 48)
        until(lambda: series("DCGM_FI_DEV_XID_ERRORS")["3"][1] == 48)
        assert series("DCGM_FI_DEV_XID_ERRORS")["4"][1] == 0
        kubelet.pods = [training_pod("job-4", [gpu_uuid(3)])]
        until(lambda: series("DCGM_FI_DEV_GPU_TEMP")["3"][0]["pod"] == "job-4")
