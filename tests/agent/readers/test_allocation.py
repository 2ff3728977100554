"""The reader `allocation` with a kubelet that comes, goes, hangs and talks nonsense."""

import grpc
import pytest
from tests.agent.kubelet import Claim, Container, Kubelet, Pod, training_pod
from tests.waiting import until

from rankscope.agent.attribution import DeviceAttribution
from rankscope.agent.health import AgentHealth
from rankscope.agent.readers.allocation import AllocationReader
from rankscope.agent.settings import AttributionSettings
from rankscope.agent.trainers import TrainerProcess
from rankscope.vocabulary import metrics
from rankscope.vocabulary.samples import Sample, attributes

UID = "0a1b2c3d-1111-2222-3333-444455556666"
CGROUP = f"0::/kubepods/pod{UID}/{'ab' * 32}"


class Node:
    """An agent's parts around the reader, with eight devices."""

    def __init__(self, tmp_path, socket, environ=None, **settings):
        self.health = AgentHealth()
        self.attribution = DeviceAttribution()
        self.trainers: list[TrainerProcess] = []
        self.now = 1000.0
        self.reader = AllocationReader(
            period=10.0,
            settings=AttributionSettings.model_validate(
                {
                    "kubelet_socket": socket,
                    "timeout_seconds": 20.0,
                    "pod_logs_folder": tmp_path / "pods",
                    **settings,
                }
            ),
            attribution=self.attribution,
            trainers=lambda: self.trainers,
            health=self.health,
            proc=tmp_path / "proc",
            environ=environ or {},
        )

    def read(self, after=10.0):
        self.now += after
        self.attribution.observe(
            Sample(
                "hw.gpu.info",
                1.0,
                self.now,
                attributes({"hw.id": f"GPU-{index}", "gpu": index, "hw.vendor": "nvidia"}),
            )
            for index in range(8)
        )
        return self.reader.read(self.now)

    def up(self):
        for measure, values in self.health.everything(self.now):
            if measure.name == "rankscope_agent_source_up":
                return values.get(("kubelet",))
        return None


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """Let each reading wait for its answer, however busy the machine is."""

    def wait(seconds):
        monkeypatch.setattr("rankscope.agent.readers.allocation._TIMEOUT_SECONDS", seconds)

    wait(20.0)
    return wait


@pytest.fixture
def kubelet(folder):
    with Kubelet(folder / "kubelet.sock") as one:
        yield one


@pytest.fixture
def process(tmp_path):
    """Put processes below a root that stands for /proc."""

    def make(pid, *, cgroup="0::/", environ=""):
        at = tmp_path / "proc" / str(pid)
        at.mkdir(parents=True)
        (at / "stat").write_text(f"{pid} (python) S {'0 ' * 50}\n")
        (at / "cgroup").write_text(f"{cgroup}\n")
        (at / "environ").write_text(environ)

    return make


@pytest.fixture
def node(tmp_path, kubelet):
    return Node(tmp_path, kubelet.path)


def held(samples):
    return {
        (pairs["hw.id"], pairs.get("k8s.namespace.name"), pairs.get("k8s.pod.name"))
        for pairs in (dict(sample.attributes) for sample in samples)
    }


def test_every_device_of_five_hundred_pods_is_its_pods(node, kubelet):
    kubelet.pods = [
        training_pod(f"p{number}", [f"GPU-{number}"])
        if number < 8
        else Pod(name=f"p{number}", containers=[Container(name="web", devices={"cpu": ["1"]})])
        for number in range(500)
    ]
    assert held(node.read()) == {(f"GPU-{number}", "ml", f"p{number}") for number in range(8)}
    assert node.up() == 1


def test_a_series_has_the_vocabularys_attributes_and_everything_known(
    node, kubelet, process, tmp_path
):
    kubelet.pods = [training_pod("p", ["GPU-3"])]
    (tmp_path / "pods" / f"ml_p_{UID}").mkdir(parents=True)
    process(77, cgroup=CGROUP)
    node.trainers.append(TrainerProcess(("", 77), "job-1", 0, 5, 77, None, 0.0))
    memory = attributes({"hw.id": "GPU-3", "gpu": 3, "pid": 77})
    node.attribution.observe([Sample("hw.gpu.process.memory", 5e9, node.now, memory)])
    (sample,) = node.read()
    assert dict(sample.attributes) == {
        "hw.id": "GPU-3",
        "gpu": 3,
        "hw.vendor": "nvidia",
        "rank": 5,
        "k8s.namespace.name": "ml",
        "k8s.pod.name": "p",
        "k8s.pod.uid": UID,
        "k8s.container.name": "train",
    }
    metric = metrics.catalogue()[sample.metric]
    named = {name for name, _ in sample.attributes}
    assert named - {*metric.attributes, *metric.optional} == set()
    assert node.attribution.rank_of("GPU-3") == 5
    assert node.attribution.rank_of("GPU-4") is None
    assert node.attribution.pod_of(77) == UID


def test_a_dynamic_resource_is_found_by_its_name(node, kubelet):
    claim = Claim(driver="gpu.nvidia.com", pool="node-1", device="gpu-6")
    kubelet.pods = [
        Pod(name="p", namespace="ml", containers=[Container(name="c", devices={}, claims=[claim])])
    ]
    assert held(node.read()) == {("GPU-6", "ml", "p")}


def test_a_pod_that_ends_holds_nothing_at_the_next_reading(node, kubelet):
    kubelet.pods = [training_pod("p", ["GPU-0"])]
    assert held(node.read()) == {("GPU-0", "ml", "p")}
    version = node.attribution.version
    kubelet.pods = [training_pod("q", ["GPU-0"])]
    assert held(node.read()) == {("GPU-0", "ml", "q")}
    assert node.attribution.version > version


def test_the_version_stands_while_nothing_changes(node, kubelet):
    kubelet.pods = [training_pod("p", ["GPU-0"])]
    node.read()
    version = node.attribution.version
    node.read()
    assert node.attribution.version == version


def test_a_kubelet_that_restarts_is_seen_and_its_pods_stay_for_a_minute(node, kubelet):
    kubelet.pods = [training_pod("p", ["GPU-0"])]
    node.read()
    kubelet.stop()
    assert held(node.read()) == {("GPU-0", "ml", "p")}
    assert node.up() == 0
    assert node.health.counted("reader_failures", "allocation", "kubelet_missing") == 1
    assert held(node.read(after=60.0)) == set()
    kubelet.start()
    assert held(node.read()) == {("GPU-0", "ml", "p")}
    assert node.up() == 1


def test_a_kubelet_that_hangs_delays_a_reading_by_a_moment_and_is_asked_once(
    node, kubelet, patience
):
    patience(0.1)
    kubelet.be_slow(30.0)
    assert node.read() == []  # after 30 s it would name the pod
    assert node.read(after=0.1) == []
    assert node.up() == 0
    assert kubelet.calls <= 1
    kubelet.pods = [training_pod("p", ["GPU-0"])]
    kubelet.be_slow(0)
    until(lambda: node.read(after=1.0), "pods")
    assert node.up() == 1


@pytest.mark.parametrize("nonsense", [b"\xff" * 100, b"<html></html>"])
def test_nonsense_is_counted_and_never_taken_for_an_empty_list(node, kubelet, nonsense):
    kubelet.pods = [training_pod("p", ["GPU-0"])]
    node.read()
    kubelet.answer = nonsense
    assert held(node.read()) == {("GPU-0", "ml", "p")}
    assert node.up() == 0
    assert node.health.counted("reader_failures", "allocation", "kubelet_protocol") == 1


def test_a_refusal_is_counted(node, kubelet):
    kubelet.refusal = grpc.StatusCode.UNAVAILABLE
    assert node.read() == []
    assert node.health.counted("reader_failures", "allocation", "kubelet_status") == 1


def test_a_socket_that_appears_late_is_found(tmp_path, kubelet):
    kubelet.stop()
    node = Node(tmp_path, None, environ={"DCGM_POD_RESOURCES_KUBELET_SOCKET": str(kubelet.path)})
    assert node.read() == []
    assert node.up() == 0
    kubelet.start()
    kubelet.pods = [training_pod("p", ["GPU-0"])]
    assert held(node.read()) == {("GPU-0", "ml", "p")}


def test_a_pod_without_the_socket_mounted_is_told_and_a_plain_host_is_not(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "rankscope.agent.attribution.kubelet.SOCKET", tmp_path / "none" / "kubelet.sock"
    )
    inside = Node(tmp_path, None, environ={"KUBERNETES_SERVICE_HOST": "10.0.0.1"})
    inside.read()
    assert inside.up() == 0
    supported, reason = inside.reader.supported()
    assert supported
    assert "mount the folder" in reason
    plain = Node(tmp_path, None)
    plain.read()
    assert plain.up() is None
    assert "no kubelet here" in plain.reader.supported()[1]


def test_a_kubelet_that_answers_leaves_nothing_to_say(node):
    assert node.reader.supported() == (True, "")


def test_jobs_come_from_a_prologs_folder_and_from_cgroups(tmp_path, process, kubelet):
    folder = tmp_path / "jobs"
    folder.mkdir()
    (folder / "0").write_text("4711\n")
    node = Node(tmp_path, kubelet.path, hpc_job_folder=folder)
    process(77, cgroup="0::/system.slice/slurmstepd.scope/job_4712/step_0/user/task_0")
    process(78, environ="SLURM_JOB_ID=4713\0")
    for pid, index in ((77, 1), (78, 2)):
        memory = attributes({"hw.id": f"GPU-{index}", "gpu": index, "pid": pid})
        node.attribution.observe([Sample("hw.gpu.process.memory", 5e9, node.now, memory)])
    found = {
        dict(sample.attributes)["gpu"]: dict(sample.attributes)["slurm.job.id"]
        for sample in node.read()
    }
    assert found == {0: "4711", 1: "4712", 2: "4713"}


def test_an_environment_inside_a_pod_makes_no_slurm_job(node, process):
    process(77, cgroup=CGROUP, environ="SLURM_JOB_ID=4713\0")
    memory = attributes({"hw.id": "GPU-1", "gpu": 1, "pid": 77})
    node.attribution.observe([Sample("hw.gpu.process.memory", 5e9, node.now, memory)])
    assert node.read() == []


def test_devices_and_processes_nobody_names_any_more_are_forgotten(node, kubelet):
    kubelet.pods = [training_pod("p", ["GPU-0"])]
    node.read()
    for pid in (1, 2):
        memory = attributes({"hw.id": "GPU-1", "gpu": 1, "pid": pid})
        node.attribution.observe([Sample("hw.gpu.process.memory", 5e9, node.now, memory)])
        node.now += 100
    assert held(node.reader.read(node.now)) == {("GPU-0", "ml", "p")}  # lost, and still its pod's
    assert [one.pid for one in node.attribution.facts([], node.now).processes] == [2]
    node.now += 2000
    assert node.reader.read(node.now) == []
    assert node.attribution.devices() == {}


def test_a_rank_says_where_it_is_until_it_ends(node, process):
    process(77)
    trainer = TrainerProcess(("", 77), "job-1", 0, 5, 77, None, 0.0)
    node.trainers.append(trainer)
    told = Sample("training.rank.info", 1.0, 0.0, attributes({"hw.id": "GPU-2", "rank": 5}))
    node.attribution.receive(trainer, [told])
    node.read()
    assert node.attribution.ranks("GPU-2") == (5,)
    node.trainers.clear()
    node.read()
    assert node.attribution.ranks("GPU-2") == ()
