import re

import pytest

from rankscope.vocabulary import device_faults, metrics
from rankscope.vocabulary.device_faults import FaultRecovery, OverrideError
from rankscope.vocabulary.device_faults.catalogue import TABLES, codes, load

ROWS = device_faults.catalogue().rows


def test_every_xid_up_to_173_has_a_row_of_its_own():
    known = {code for vendor, code in ROWS if vendor == "nvidia" and code.isdigit()}
    assert {str(number) for number in range(1, 174)} == known


@pytest.mark.parametrize("table", TABLES)
def test_a_table_says_its_version_and_source(table):
    written = load(table)
    assert re.fullmatch(r"\d{4}\.\d{2}(\.\d+)?", written.version)
    assert "read November 2026" in written.source or table == "driver"
    assert f"{table}={written.version}" in device_faults.version()


def test_no_code_stands_in_two_rows():
    seen = []
    for name in TABLES:
        table = load(name)
        for row in table.fault:
            vendor = row.get("vendor", table.vendor)
            seen += [(vendor, code) for code in codes(row["codes"])]
    assert sorted(set(seen)) == sorted(seen)


@pytest.mark.parametrize(
    ("code", "fault_class", "immediate", "cleared_by"),
    [
        ("13", "application", "RESTART_APP", "quiet:10"),
        ("31", "application", "RESTART_APP", "quiet:10"),
        ("48", "fatal", "WORKFLOW_XID_48", "gpu_reset"),
        ("63", "info", "IGNORE", "quiet:10"),
        ("74", "fatal", "WORKFLOW_NVLINK_ERR", "gpu_reset"),
        ("79", "fatal", "RESTART_BM", "reboot"),
        ("94", "degraded", "RESTART_APP", "gpu_reset"),
        ("119", "fatal", "RESET_GPU", "gpu_reset"),
        ("sxid.10004", "warning", "CHECK_THERMALS", "quiet:60"),
        ("sxid.12028", "fatal", "RESET_FABRIC", "gpu_reset"),
        ("sxid.19084", "fatal", "RESET_FABRIC", "gpu_reset"),
        ("sxid.20001", "info", "IGNORE", "quiet:10"),
        ("sxid.23008", "fatal", "RESET_FABRIC", "gpu_reset"),
        ("dcgm.DCGM_FR_PENDING_ROW_REMAP", "degraded", "RESET_GPU", "gpu_reset"),
        ("dcgm.DCGM_FR_NVLINK_DOWN", "fatal", "NODE_REBOOT", "reboot"),
        ("nvml.hung", "fatal", "RESTART_BM", "answer"),
        ("row_remap.failed", "fatal", "RUN_FIELDDIAG", "operator"),
    ],
)
def test_a_code_is_judged_as_the_vendors_catalogue_does(code, fault_class, immediate, cleared_by):
    found = device_faults.find("nvidia", code)
    assert (fault_class, immediate, cleared_by) == (
        found.fault_class,
        found.immediate,
        str(found.cleared_by),
    )
    assert found.known


def test_where_tools_disagree_both_are_shown():
    found = device_faults.find("nvidia", "63")
    assert ("info", "IGNORE") == (found.fault_class, found.immediate)
    said = {one.tool: (one.fault_class, one.action) for one in found.others}
    assert {"gpud": ("Fatal", "reboot and inspect"), "NVSentinel": ("nonfatal", "IGNORE")} == said


def test_a_code_that_no_table_has_falls_back_to_its_family_and_says_so():
    for vendor, code, word in (
        ("nvidia", "999", "XID"),
        ("nvidia", "sxid.99999", "SXID"),
        ("cambricon", "cambricon.7", "Cambricon"),
        ("nobody", "x", "vendor"),
    ):
        found = device_faults.find(vendor, code)
        assert (vendor, code, False) == (found.vendor, found.code, found.known)
        assert found.fault_class == "unknown"
        assert word in found.meaning


def test_a_hexadecimal_code_is_found_however_it_is_written():
    found = device_faults.find("ascend", "ascend.80E18402")
    assert "fatal" == found.fault_class
    assert device_faults.find("ascend", "ascend.80e18402") == found


def test_clock_reasons_are_those_of_the_metric():
    known = metrics.catalogue()["hw.gpu.throttle"].values["reason"]
    reasons = device_faults.clock_reasons()
    assert [1 << bit for bit in range(11)] == [one.bit for one in reasons]
    assert set(known) == {one.reason for one in reasons} - {""}
    assert {0x8, 0x40, 0x80} == {one.bit for one in reasons if one.grade == "alert"}
    assert {0x20} == {one.bit for one in reasons if one.grade == "warn"}


def test_recovery_actions_are_those_of_the_metric():
    known = metrics.catalogue()["hw.gpu.recovery_action"].values["action"]
    actions = device_faults.recovery_actions()
    assert list(known) == [actions[number].action for number in range(8)]


def test_port_counters_have_thresholds_over_stretches():
    found = device_faults.infiniband()
    assert [(3600.0, 120.0, None), (1.0, None, 10.0)] == [
        (one.seconds, one.fatal, one.degraded) for one in found["symbol_error"]
    ]
    assert 0.0 == found["link_downed"][0].fatal
    assert all(
        one.fatal is not None or one.degraded is not None for row in found.values() for one in row
    )


def test_a_sites_row_changes_what_it_names_and_nothing_else(tmp_path):
    path = tmp_path / "site.toml"
    path.write_text(
        'version = 7\n[[fault]]\ncodes = ["63", "13"]\nclass = "degraded"\n'
        '[[fault]]\ncodes = "sxid.12028-12030"\nimmediate = "CALL_BOB"\n'
        '[[fault]]\nvendor = "amd"\ncodes = "amd.42"\nclass = "fatal"\ncleared_by = "operator"\n'
    )
    found = device_faults.overridden(device_faults.catalogue(), path)
    assert "degraded" == found.find("nvidia", "63").fault_class
    assert "IGNORE" == found.find("nvidia", "63").immediate
    assert device_faults.find("nvidia", "63").others == found.find("nvidia", "63").others
    assert ("fatal", "CALL_BOB") == (
        found.find("nvidia", "sxid.12028").fault_class,
        found.find("nvidia", "sxid.12028").immediate,
    )
    assert FaultRecovery("operator") == found.find("amd", "amd.42").cleared_by
    assert device_faults.find("nvidia", "79") == found.find("nvidia", "79")
    assert found.version.endswith("site=7")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[[fault]]\ncodes = "79"\nclass = "bad"\n', ["row 1", "class 'bad'", "degraded"]),
        ('[[fault]]\ncodes = "79"\nclss = "info"\n', ["row 1", "clss", "mnemonic"]),
        ('[[fault]]\nclass = "info"\n', ["row 1", "codes"]),
        ('[[fault]]\ncodes = "9-1"\nclass = "info"\n', ["row 1", "9-1"]),
        ('[[fault]]\ncodes = "1-99999999"\nclass = "info"\n', ["row 1", "too wide"]),
        (
            '[[fault]]\ncodes = "1"\n[[fault]]\ncodes = "79"\ncleared_by = "quiet:x"\n',
            ["row 2", "quiet:x", "quiet:MINUTES"],
        ),
        ("[[fault]]\ncodes = 79\n", ["row 1", "79"]),
        ('[fault]\ncodes = "79"\n', ["[[fault]]"]),
        ('[[falt]]\ncodes = "79"\n', ["falt"]),
        ("not toml", ["line 1"]),
    ],
)
def test_a_bad_override_says_file_row_and_fix(tmp_path, text, words):
    path = tmp_path / "site.toml"
    path.write_text(text)
    with pytest.raises(OverrideError) as error:
        device_faults.overridden(device_faults.catalogue(), path)
    assert str(path) in str(error.value)
    for word in words:
        assert word in str(error.value)


def test_an_override_that_is_not_there_is_an_error_with_its_path(tmp_path):
    with pytest.raises(OverrideError, match=r"missing\.toml"):
        device_faults.overridden(device_faults.catalogue(), tmp_path / "missing.toml")
