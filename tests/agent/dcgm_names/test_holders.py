"""Whose a device is: pods, shares, parts."""

import pytest
from tests.agent.dcgm_names.pages import GPU_0, Page, fault

from rankscope.agent.attribution.joining import DeviceProcess, ProcessOwner
from rankscope.vocabulary.samples import Sample, Scalar, attributes


def test_a_pod_that_goes_takes_its_labels_along(gpu):
    page = Page()
    page.see(*gpu(0))
    page.give(("a", "GPU-0"))
    assert page.values()["DCGM_FI_DEV_GPU_UTIL"][0][0]["pod"] == "a"
    page.give(("b", "GPU-0"))
    assert page.values()["DCGM_FI_DEV_GPU_UTIL"][0][0]["pod"] == "b"
    page.give()
    assert "pod" not in page.values()["DCGM_FI_DEV_GPU_UTIL"][0][0]


def test_time_slices_are_a_series_each_also_of_one_pod(gpu):
    page = Page()
    page.see(*gpu(0))
    page.give(("a", "GPU-0::0"), ("a", "GPU-0::1"), ("b", "GPU-0::2"))
    labels = [labels for labels, _ in page.values()["DCGM_FI_DEV_GPU_TEMP"]]
    assert [(one["pod"], one["vgpu"]) for one in labels] == [("a", "0"), ("a", "1"), ("b", "2")]


def test_holders_of_a_shared_device_are_shown_their_own_share(gpu):
    page = Page(pod_uid=True)
    page.see(
        *gpu(0),
        Sample("hw.gpu.process.memory", 3 * 2**30, 1.0, attributes({**GPU_0, "pid": 10})),
        Sample("hw.gpu.process.memory", 1 * 2**30, 1.0, attributes({**GPU_0, "pid": 11})),
        Sample("hw.gpu.process.utilization", 0.4, 1.0, attributes({**GPU_0, "pid": 10})),
    )
    page.give(
        ("a", "GPU-0::0"),
        ("b", "GPU-0::1"),
        ("c", "GPU-0::2"),
        names={f"uid-{name}": ("ml", name) for name in "abc"},
        belongs={10: ProcessOwner(pod_uid="uid-a"), 11: ProcessOwner(pod_uid="uid-b")},
        processes=[DeviceProcess("GPU-0", 10, 1.0), DeviceProcess("GPU-0", 11, 1.0)],
    )
    found = page.values()
    used = {labels["pod"]: value for labels, value in found["DCGM_FI_DEV_FB_USED"]}
    assert used == {"a": 3072, "b": 1024, "c": 0}
    busy = {labels["pod"]: value for labels, value in found["DCGM_FI_DEV_GPU_UTIL"]}
    assert busy == {"a": 40, "b": 0, "c": 0}
    warm = {labels["pod"]: value for labels, value in found["DCGM_FI_DEV_GPU_TEMP"]}
    assert warm == {"a": 41, "b": 41, "c": 41}
    assert found["DCGM_FI_DEV_GPU_TEMP"][0][0]["pod_uid"] == "uid-a"


@pytest.mark.parametrize(
    ("hw_id", "partition", "device"),
    [("MIG-p", "1g.10gb/7", "MIG-p"), ("GPU-0/7", "1g.10gb", "nvidia0/gi7")],
)
def test_a_part_has_its_devices_identity_and_its_own_profile(gpu, hw_id, partition, device):
    page = Page()
    part: dict[str, Scalar] = {"hw.id": hw_id, "gpu": 0, "hw.vendor": "nvidia"}
    described: dict[str, Scalar] = {**part, "hw.parent": "GPU-0", "partition": partition}
    page.see(
        *gpu(0),
        Sample("hw.gpu.info", 1.0, 1.0, attributes(described)),
        Sample("hw.gpu.memory.usage", 2**30, 1.0, attributes(part)),
    )
    page.give(("a", device))
    ((labels, used),) = page.values()["DCGM_FI_DEV_FB_USED"]
    assert (labels["GPU_I_PROFILE"], labels["GPU_I_ID"]) == ("1g.10gb", "7")
    assert (labels["UUID"], labels["pod"], used) == ("GPU-0", "a", 1024)
    ((labels, warm),) = page.values()["DCGM_FI_DEV_GPU_TEMP"]
    assert (labels["GPU_I_ID"], labels["pod"], warm) == ("7", "a", 41)


def test_a_lost_device_keeps_its_labels_for_what_is_still_said_of_it(gpu):
    page = Page()
    page.see(*gpu(0, at=1000.0))
    page.give(("a", "GPU-0"))
    ((before, _),) = page.values()["DCGM_FI_DEV_XID_ERRORS"]
    page.see(*fault("79", 1.0, 1100.0, last=79.0))
    assert page.values()["DCGM_FI_DEV_XID_ERRORS"] == [(before, 79.0)]
    assert "DCGM_FI_DEV_GPU_TEMP" not in page.values()
