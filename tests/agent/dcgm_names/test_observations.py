"""What is counted over time: faults and clock events."""

from tests.agent.dcgm_names.pages import Page, fault


def test_an_xid_shows_in_the_gauge_in_the_window_and_in_the_count(gpu):
    page = Page("both")
    page.see(*gpu(0, at=1000.0))
    assert page.values()["DCGM_FI_DEV_XID_ERRORS"][0][1] == 0
    page.see(*gpu(0, at=1100.0), *fault("79", 1.0, 1100.0, last=79.0))
    page.see(*gpu(0, at=1105.0), *fault("79", 3.0, 1105.0, last=79.0), *fault("sxid.1", 1, 1105.0))
    found = page.values()
    assert found["DCGM_FI_DEV_XID_ERRORS"][0][1] == 79
    assert found["DCGM_FI_DEV_XID_ERROR"][0][1] == 79
    ((labels, value),) = found["DCGM_EXP_XID_ERRORS_COUNT"]
    assert (labels["xid"], labels["window_size_in_ms"], value) == ("79", "300000", 3)
    ((labels, value),) = found["DCGM_EXP_XID_ERRORS_TOTAL"]
    assert (labels["xid"], value) == ("79", 3)
    page.see(*gpu(0, at=1404.0), *fault("79", 3.0, 1404.0, last=79.0))
    assert page.values()["DCGM_EXP_XID_ERRORS_COUNT"][0][1] == 2
    page.see(*gpu(0, at=1500.0), *fault("79", 3.0, 1500.0, last=79.0))
    found = page.values()
    assert found["DCGM_EXP_XID_ERRORS_COUNT"][0][1] == 0
    assert found["DCGM_EXP_XID_ERRORS_TOTAL"][0][1] == 3


def test_faults_from_before_the_agents_start_are_not_of_the_window(gpu):
    page = Page()
    page.see(*gpu(0, at=1000.0), *fault("79", 5.0, 1000.0))
    page.see(*gpu(0, at=1010.0), *fault("79", 6.0, 1010.0))
    assert page.values()["DCGM_EXP_XID_ERRORS_COUNT"][0][1] == 1
    assert page.values()["DCGM_EXP_XID_ERRORS_TOTAL"][0][1] == 6


def test_clock_events_are_counted_in_dcgms_words(gpu):
    page = Page()
    for step in range(3):
        page.see(*gpu(0, at=1000.0 + 5 * step))
    found = page.values()
    counted = {
        labels["clock_event"]: value for labels, value in found["DCGM_EXP_CLOCK_EVENTS_COUNT"]
    }
    assert (counted["power_cap"], counted["hw_thermal"]) == (3, 3)
    began = {labels["clock_event"]: value for labels, value in found["DCGM_EXP_CLOCK_EVENTS_TOTAL"]}
    assert (began["power_cap"], began["gpu_idle"]) == (1, 0)
