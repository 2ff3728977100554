import os

import pytest

from rankscope.agent.attribution.cgroups import CgroupMembership, of, parse

UID = "0a1b2c3d-1111-2222-3333-444455556666"
SLICE = UID.replace("-", "_")
STATIC = "0123456789abcdef0123456789abcdef"
BOX = "ab" * 32


@pytest.mark.parametrize(
    "text",
    [
        f"0::/kubepods.slice/kubepods-pod{SLICE}.slice/cri-containerd-{BOX}.scope",
        f"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{SLICE}.slice/crio-{BOX}",
        f"0::/kubepods/besteffort/pod{UID}/{BOX}",
        f"0::/kubepods/pod{UID}/{BOX}/user/child",
        f"11:memory:/kubepods/burstable/pod{UID}/{BOX}\n1:name=systemd:/kubepods/other",
        f"5:cpu,cpuacct:/system.slice/containerd.service/kubepods-pod{SLICE}.slice:cri-containerd:{BOX}",
        f"0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod{SLICE}.slice/crio-{BOX}",
        f"0::/docker/{'cd' * 32}/kubepods/pod{UID}/{BOX}",
        f"0::/kubepods.slice/kubepods-pod{SLICE}.slice/docker-{BOX}.scope",
        f"0::/../../kubepods-burstable-pod{SLICE}.slice/cri-containerd-{BOX}.scope",
        f"0::/../../pod{UID}/{BOX}",
    ],
)
def test_pod_and_container_are_read_whatever_driver_and_runtime(text):
    assert CgroupMembership(pod_uid=UID, container=BOX) == parse(text)


def test_a_static_pods_hash_is_its_uid():
    assert CgroupMembership(pod_uid=STATIC, container=BOX) == parse(
        f"0::/kubepods/burstable/pod{STATIC}/{BOX}"
    )


@pytest.mark.parametrize(
    "text",
    [
        "0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_3",
        "0::/system.slice/node1_slurmstepd.scope/job_4711/step_batch/user",
        "4:memory:/slurm/uid_1000/job_4711/step_0/task_0\n3:cpu:/slurm/uid_1000",
        "4:devices:/slurm_node1/uid_1000/job_4711",
    ],
)
def test_a_slurm_job_is_read_from_both_versions(text):
    assert CgroupMembership(slurm_job="4711") == parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "0::/",
        "0::/user.slice/user-1000.slice/session-2.scope",
        f"0::/user.slice/user-1000.slice/pod{UID}/{BOX}",
        "0::/user.slice/job_99/step_0",
        "0::/kubepods.slice/kubepods-burstable.slice",
    ],
)
def test_what_is_in_no_pod_and_no_job_says_so(text):
    assert CgroupMembership() == parse(text)


def test_a_cgroup_made_below_ones_own_cannot_take_anothers_name():
    other = UID.replace("0a1b", "ffff")
    text = f"0::/kubepods/pod{UID}/{BOX}/kubepods/pod{other}/{'ef' * 32}"
    assert CgroupMembership(pod_uid=UID, container=BOX) == parse(text)
    text = "0::/slurm/uid_1/job_1/step_0/slurm/uid_1/job_2/step_0"
    assert parse(text).slurm_job == "1"


def test_a_path_of_ten_thousand_odd_names_costs_no_time():
    assert CgroupMembership() == parse("0::/kubepods" + "/a-pod-" * 10_000)


def test_this_very_process_is_read():
    assert of(os.getpid()) is not None
    assert of(2**22 + 1) is None
