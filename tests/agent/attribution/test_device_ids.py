import pytest

from rankscope.agent.attribution.device_ids import (
    DeviceIdentity,
    DeviceReference,
    meant,
    resolve,
    vendor,
)

A = "GPU-604ac76c-d9cf-fef3-62e9-d92044ab6e52"
B = "GPU-704ac76c-d9cf-fef3-62e9-d92044ab6e52"
PART = "MIG-80f2c76c-d9cf-5ef3-82e9-d92044ab6e52"
KNOWN = [
    DeviceIdentity(A, 0, pci="0000:07:00.0"),
    DeviceIdentity(B, 1, pci="0000:0b:00.0"),
    DeviceIdentity(PART, 1, parent=B, partition="1g.10gb/7"),
    DeviceIdentity(f"{A}/3", 0, parent=A, partition="2g.20gb"),
    DeviceIdentity("card-1", 1, vendor="amd", pci="0000:85:00.0"),
    DeviceIdentity("npu-1", 1, vendor="ascend"),
]


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        (A, DeviceReference(hw_id=A)),
        (PART, DeviceReference(hw_id=PART)),
        (f"{A}::3", DeviceReference(hw_id=A, replica="3")),
        (f"{PART}::0", DeviceReference(hw_id=PART, replica="0")),
        (f"MIG-{A}/7/0", DeviceReference(hw_id=A, instance="7")),
        ("nvidia1", DeviceReference(minor=1)),
        ("nvidia1/gi7", DeviceReference(minor=1, instance="7")),
        ("nvidia1/gi7/vgpu2", DeviceReference(minor=1, instance="7", replica="2")),
        ("nvidia1/vgpu0", DeviceReference(minor=1, replica="0")),
        ("gpu-1", DeviceReference(minor=1)),
        ("gpu-1-mig-19-4-1", DeviceReference(minor=1, instance="mig-19-4-1")),
        ("gpu-1-mig-1g12gb-19-0", DeviceReference(minor=1, instance="mig-1g12gb-19-0")),
        ("Ascend910-1", DeviceReference(index=1)),
        ("Ascend910B3-1", DeviceReference(index=1)),
        ("0000:85:00.0", DeviceReference(pci="0000:85:00.0")),
        ("00000000:0B:00.0", DeviceReference(pci="0000:0b:00.0")),
        ("something else", DeviceReference(hw_id="something else")),
    ],
)
def test_each_plugins_name_for_a_device_is_understood(device, expected):
    assert expected == meant(device)


def test_a_dynamic_device_is_known_by_the_uuid_in_its_cdi_name():
    assert DeviceReference(hw_id=A) == meant("gpu-5", ("k8s.gpu.nvidia.com/device=" + A,))


@pytest.mark.parametrize(
    ("device", "maker", "expected"),
    [
        (A, "nvidia", (A, "")),
        (PART, "nvidia", (PART, "1g.10gb/7")),
        ("GPU-unseen", "nvidia", ("GPU-unseen", "")),
        ("nvidia0", "nvidia", (A, "")),
        ("nvidia1/gi7", "nvidia", (PART, "1g.10gb/7")),
        ("nvidia1/gi9", "nvidia", (B, "9")),
        ("nvidia0/gi3", "nvidia", (f"{A}/3", "2g.20gb/3")),
        (f"MIG-{B}/7/0", "nvidia", (PART, "1g.10gb/7")),
        ("nvidia5", "nvidia", ("", "")),
        ("0000:0b:00.0", "nvidia", (B, "")),
        ("0000:85:00.0", "amd", ("card-1", "")),
        ("Ascend910-1", "ascend", ("npu-1", "")),
    ],
)
def test_a_name_is_resolved_to_a_device_of_its_maker_or_a_part_of_it(device, maker, expected):
    assert expected == resolve(meant(device), KNOWN, maker=maker)


@pytest.mark.parametrize("device", ["gpu-1", "nvidia1"])
def test_a_number_in_the_name_of_a_device_file_is_the_minor_number_where_it_is_known(device):
    """NVML counts by PCI address; the driver numbered the files in the order of its probing."""
    turned = [DeviceIdentity(A, 0, minor=1), DeviceIdentity(B, 1, minor=0)]
    assert (A, "") == resolve(meant(device), turned)


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        ("nvidia.com/gpu", "nvidia"),
        ("gpu.nvidia.com", "nvidia"),
        ("huawei.com/Ascend910", "ascend"),
        ("notnvidia.com/gpu", ""),
    ],
)
def test_a_resource_tells_the_maker(resource, expected):
    assert expected == vendor(resource)
