import pytest

from rankscope.agent.devices import Device, Devices, normal


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
    devices = Devices()
    devices.note(Device("GPU-a", 0, "0000:1b:00.0"))
    devices.note(Device("GPU-b", 1, "0000:43:00.0"))
    assert devices.by_pci("00000000:43:00.0") == "GPU-b"
    devices.note(Device("GPU-b", 0, "0000:43:00.0"))
    assert devices.index_of("GPU-b") == 0
    assert devices.pci_of("GPU-b") == "0000:43:00.0"
    assert devices.by_pci("0000:99:00.0") is None
    assert devices.index_of("GPU-z") is None


def test_a_device_in_a_slot_takes_the_place_of_the_one_before():
    devices = Devices()
    devices.note(Device("GPU-old", 0, "0000:1b:00.0"))
    devices.note(Device("GPU-new", 0, "0000:1b:00.0"))
    assert [one.hw_id for one in devices.everyone()] == ["GPU-new"]


def test_the_list_outlives_the_agent_and_a_broken_one_is_learnt_anew(tmp_path):
    Devices(tmp_path).note(Device("GPU-a", 3, "0000:1b:00.0", "nvidia", "H100"))
    assert Devices(tmp_path).get("GPU-a") == Device("GPU-a", 3, "0000:1b:00.0", "nvidia", "H100")
    (tmp_path / "devices.json").write_text('[{"hw_id": "GPU-a"')
    assert Devices(tmp_path).everyone() == []
