"""Which device a series is about where ids are blank, or the same for all."""

import pytest

from rankscope.formats import exporters

NIL = "00000000-0000-0000-0000-000000000000"


def amd(index, *, uuid=NIL, serial="", partition="4294967295"):
    pairs = f'gpu_id="{index}",gpu_uuid="{uuid}",serial_number="{serial}"'
    return f'amd_gpu_gfx_activity{{{pairs},gpu_partition_id="{partition}"}} {10 + index}\n'


def ids(mapped):
    return {device.hw_id: device.index for device in mapped.devices}


@pytest.mark.parametrize("partition", ["4294967295", "NA", "N/A", "", "0"])
def test_devices_of_a_vm_that_share_the_nil_uuid_are_told_apart_by_their_index(read, partition):
    mapped = read("amd", amd(0, partition=partition) + amd(1, partition=partition))
    assert ids(mapped) == {"amd-0": 0, "amd-1": 1}
    used = {dict(one.attributes)["hw.id"]: one.value for one in mapped.samples[2:]}
    assert used == {"amd-0": 0.1, "amd-1": pytest.approx(0.11)}


@pytest.mark.parametrize(
    "uuid", [NIL, "", "N/A", "ffffffff-ffff-ffff-ffff-ffffffffffff", "GPU-" + NIL, "0x0"]
)
def test_a_serial_number_stands_in_for_a_uuid_that_says_nothing(read, uuid):
    page = amd(0, uuid=uuid, serial="692407004347") + amd(1, uuid=uuid, serial="692407004348")
    assert ids(read("amd", page)) == {"692407004347": 0, "692407004348": 1}


def test_a_serial_number_that_says_nothing_is_no_name(read):
    mapped = read("amd", amd(0, serial="N/A") + amd(1, serial="N/A"))
    assert ids(mapped) == {"amd-0": 0, "amd-1": 1}
    assert not any("hw.serial_number" in dict(device.info) for device in mapped.devices)


def test_partitions_are_parts_of_the_device_that_their_uuid_names(read):
    mapped = read("amd", "".join(amd(number, uuid="A", partition=number) for number in range(3)))
    assert ids(mapped) == {"A": 0, "A/1": 1, "A/2": 2}


def test_two_devices_of_one_page_that_have_the_same_id_stay_two_whatever_their_order():
    mapping = exporters.PageMapping(exporters.load("amd"))
    lines = [amd(number, uuid="A", partition="NA") for number in range(2)]
    assert ids(mapping.read(["".join(lines).encode()], now=1.0)) == {"A": 0, "amd-1": 1}
    moved = "".join(line.replace("{", '{pod="p",') for line in reversed(lines))
    assert ids(mapping.read([moved.encode()], now=2.0)) == {"A": 0, "amd-1": 1}
