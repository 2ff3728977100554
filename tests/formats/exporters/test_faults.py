import json

import pytest

from rankscope.formats import exporters


def reader(vendor, state=None):
    """Read page after page of a vendor; give the (code, count) of each event."""
    table = exporters.load(vendor)
    mapping = exporters.PageMapping(table)
    watch = exporters.FaultWatch(table.exporter, table.vendor)
    if state is not None:
        watch.restore(state)
    clock = [1000.0]

    def page(*lines):
        clock[0] += 5.0
        mapped = mapping.read(["".join(f"{line}\n" for line in lines).encode()], now=clock[0])
        events = watch.see(mapped.faults, mapped.devices, at=clock[0])
        for event in events:
            assert event.name == "gpu.fault"
            assert event.at == clock[0]
            assert event.attributes["vendor"] == table.vendor
            assert event.attributes["source"] == "exporter"
            assert str(event.attributes["code"]) in str(event.attributes["text"])
        return [(one.attributes["code"], one.attributes.get("count", 1)) for one in events]

    return page, watch


XID = 'DCGM_FI_DEV_XID_ERRORS{gpu="0",UUID="GPU-1"} %d'
TEMP = 'DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-1"} 40'
COUNT = 'DCGM_EXP_XID_ERRORS_TOTAL{gpu="0",UUID="GPU-1",xid="%s"} %d'
WINDOW = 'DCGM_EXP_XID_ERRORS_COUNT{gpu="0",UUID="GPU-1",xid="%s",window_size_in_ms="300000"} %d'


def test_an_xid_is_reported_when_the_gauge_turns_to_it_and_not_again_while_it_stays():
    page, _ = reader("nvidia")
    assert page(XID % 0) == []
    assert page(XID % 79) == [("79", 1)]
    assert page(XID % 79) == []
    assert page(XID % 31) == [("31", 1)]
    assert page(XID % 79) == [("79", 1)]


def test_what_the_first_page_holds_is_no_event():
    page, _ = reader("nvidia")
    assert page(XID % 13, COUNT % ("13", 5)) == []
    assert page(XID % 13, COUNT % ("13", 5)) == []
    assert page(XID % 13, COUNT % ("13", 7)) == [("13", 2)]


def test_a_counter_reports_every_repeat():
    page, _ = reader("nvidia")
    assert page(TEMP) == []
    assert page(COUNT % ("94", 2)) == [("94", 2)]
    assert page(COUNT % ("94", 3)) == [("94", 1)]
    assert page(COUNT % ("94", 0)) == []
    assert page(COUNT % ("94", 1)) == [("94", 1)]


def test_an_exporter_that_was_restarted_is_reported_again():
    page, _ = reader("nvidia")
    assert page(TEMP, COUNT % ("94", 5)) == []
    assert page(TEMP) == []  # started anew: it shows codes only once they come up
    assert page(TEMP, COUNT % ("94", 2)) == [("94", 2)]


def test_a_window_that_slides_on_reports_nothing():
    page, _ = reader("nvidia")
    assert page(TEMP) == []
    assert page(TEMP, WINDOW % ("94", 3)) == [("94", 3)]
    assert page(TEMP, WINDOW % ("94", 1)) == []


def test_one_fault_reported_by_gauge_window_and_counter_is_one():
    page, _ = reader("nvidia")
    assert page(XID % 13, WINDOW % ("13", 1), COUNT % ("13", 2)) == []
    assert page(XID % 79, WINDOW % ("79", 1), COUNT % ("79", 1)) == [("79", 1)]
    assert page(XID % 79, WINDOW % ("79", 1), COUNT % ("79", 1)) == []


def test_dcgms_own_health_check_is_a_fault_by_its_code():
    health = (
        'DCGM_EXP_GPU_HEALTH_STATUS{gpu="0",UUID="G",health_watch="PCIE",health_error_code="%s"} %d'
    )
    page, _ = reader("nvidia")
    assert page(health % ("", 0)) == []
    found = page(health % ("DCGM_FR_PCI_REPLAY_RATE", 10))
    assert found == [("dcgm.DCGM_FR_PCI_REPLAY_RATE", 1)]


def test_codes_of_what_is_wrong_now_are_reported_at_once_and_again_after_they_were_gone():
    first = 'npu_chip_info_error_code{id="0",vdie_id="V"} %d'
    second = 'npu_chip_info_error_code_1{id="0",vdie_id="V"} %d'
    page, _ = reader("ascend")
    both = [("ascend.80e3a201", 1), ("ascend.80e18402", 1)]
    assert page(first % 0x80E3A201, second % 0x80E18402) == both
    assert page(first % 0x80E18402, second % 0x80E3A201) == []  # they moved up
    assert page(first % 0, second % 0) == []
    assert page(first % 0x80E3A201, second % 0) == []  # one page without may be a cut one
    assert page(first % 0, second % 0) == []
    assert page(first % 0, second % 0) == []
    assert page(first % 0x80E3A201, second % 0) == [("ascend.80e3a201", 1)]


def test_a_code_is_not_over_while_its_device_reports_nothing():
    line = 'npu_chip_info_error_code{id="0",vdie_id="V"} 5'
    page, _ = reader("ascend")
    assert page(line) == [("ascend.5", 1)]
    for _ in range(5):
        assert page("machine_npu_nums 1") == []
    assert page(line) == []


def test_numbers_of_a_vendor_have_one_spelling():
    page, _ = reader("cambricon")
    assert page('mlu_health{mlu="0"} 1') == []
    assert page('mlu_last_xid_error{mlu="0"} 31') == [("cambricon.0x1f", 1)]
    assert page('mlu_xid_error_count{mlu="0",xid="0x1F"} 1') == []
    assert reader("metax")[0]('mx_driver_eid_errors{deviceId="0"} 4353') == []


def test_the_list_of_amds_codes_is_a_list():
    line = 'gpu_afid_errors{gpu_id="0",afid_index="%d"} %d'
    page, _ = reader("amd")
    assert page(line % (0, 0)) == []
    assert page(line % (0, 24), line % (1, 30)) == [("amd.24", 1), ("amd.30", 1)]
    assert page(line % (0, 24), line % (1, 30)) == []


def test_what_was_reported_outlives_the_agent():
    page, watch = reader("nvidia")
    page(XID % 13, COUNT % ("13", 5))
    state = json.loads(json.dumps(watch.state()))
    page, _ = reader("nvidia", state)
    assert page(XID % 13, COUNT % ("13", 5)) == []
    page, _ = reader("nvidia", state)
    assert page(XID % 79, COUNT % ("13", 6)) == [("79", 1), ("13", 1)]


@pytest.mark.parametrize("state", [{}, {"counts": 3}, {"counts": [[1], "x"], "standing": [[]]}])
def test_a_state_that_does_not_fit_is_left_out(state):
    assert reader("nvidia", state)[0](XID % 13) == []
