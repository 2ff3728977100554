import pytest

from rankscope.agent.devices import DeviceRegister, KnownDevice, normal
from rankscope.vocabulary.samples import Sample, attributes


@pytest.mark.parametrize(
    "spelt",
    ["00000000:1B:00.0", "0000:1b:00.0", "0000:1B:00", "1b:00.0", "  00000000:1b:00.0 "],
)
def test_an_address_is_one_however_drivers_and_kernels_spell_it(spelt):
    assert normal(spelt) == "0000:1b:00.0"


def test_an_address_that_is_none_is_left_alone():
    assert normal("nowhere") == "nowhere"
    assert normal("00010000:9D:1f.7") == "10000:9d:1f.7"


def test_a_device_is_found_by_its_address_and_keeps_its_id_under_a_new_index():
    devices = DeviceRegister()
    devices.note(KnownDevice("GPU-a", 0, "0000:1b:00.0"))
    devices.note(KnownDevice("GPU-b", 1, "0000:43:00.0"))
    assert devices.by_pci("00000000:43:00.0") == "GPU-b"
    devices.note(KnownDevice("GPU-b", 0, "0000:43:00.0"))
    assert devices.index_of("GPU-b") == 0
    assert devices.by_pci("0000:43:00.0") == "GPU-b"
    assert devices.by_pci("0000:99:00.0") is None
    assert devices.index_of("GPU-z") is None


def test_a_device_in_a_slot_takes_the_place_of_the_one_before():
    devices = DeviceRegister()
    devices.note(KnownDevice("GPU-old", 0, "0000:1b:00.0"))
    devices.note(KnownDevice("GPU-new", 0, "0000:1b:00.0"))
    assert [one.hw_id for one in devices.everyone()] == ["GPU-new"]


def info(hw_id, gpu, **more):
    pairs = {"hw.id": hw_id, "gpu": gpu, "hw.vendor": "amd", **more}
    return Sample("hw.gpu.info", 1.0, 5.0, attributes(pairs))


def test_an_exporters_devices_are_known_by_address_but_are_not_ours_to_miss():
    devices = DeviceRegister()
    devices.learn([info("AMD-1", 0, **{"pci.bus_id": "0000:1B:00.0", "hw.model": "MI300X"})])
    devices.learn([info("AMD-2", 1), info("AMD-2/7", 1, partition="1g"), info("AMD-3", "x")])
    assert devices.by_pci("0000:1b:00") == "AMD-1"
    assert [one.hw_id for one in devices.everyone()] == ["AMD-1", "AMD-2"]
    assert devices.natives("amd") == []


def test_what_a_reader_of_ours_knows_of_a_device_is_not_replaced_by_an_exporters_words():
    devices = DeviceRegister()
    devices.note(KnownDevice("GPU-a", 3, "0000:1b:00.0", "nvidia", "H100"))
    devices.learn([info("GPU-a", 0)])
    assert devices.index_of("GPU-a") == 3
    assert [one.hw_id for one in devices.natives("nvidia")] == ["GPU-a"]


def test_the_list_outlives_the_agent_and_a_broken_one_is_learnt_anew(tmp_path):
    DeviceRegister(tmp_path).note(KnownDevice("GPU-a", 3, "0000:1b:00.0", "nvidia", "H100"))
    assert DeviceRegister(tmp_path).get("GPU-a") == KnownDevice(
        "GPU-a", 3, "0000:1b:00.0", "nvidia", "H100"
    )
    (tmp_path / "devices.json").write_text('[{"hw_id": "GPU-a"')
    assert DeviceRegister(tmp_path).everyone() == []
