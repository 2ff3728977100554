import pytest

from rankscope.formats.kernel_log import DeviceFault

XID = "NVRM: Xid (PCI:0000:05:00): "


@pytest.mark.parametrize(
    ("text", "code", "pci", "pid", "process"),
    [
        (XID + "79, pid=1122, GPU has fallen off the bus.", "79", "0000:05:00.0", 1122, ""),
        (
            XID
            + "31, pid=4711, name=python3, Ch 00000008, intr 10000000. MMU Fault: ENGINE GRAPHICS",
            "31",
            "0000:05:00.0",
            4711,
            "python3",
        ),
        (
            XID + "45, pid='<unknown>', name=<unknown>, Ch 00000010",
            "45",
            "0000:05:00.0",
            None,
            "",
        ),
        (XID + "45, pid=<unknown>, name=<unknown>, Ch 00000010", "45", "0000:05:00.0", None, ""),
        (XID + "43, pid='99', name='my prog', Ch 1", "43", "0000:05:00.0", 99, "my prog"),
        (XID + "62, 2b0f(3a80) 00000000 00000000", "62", "0000:05:00.0", None, ""),
        (XID + "48", "48", "0000:05:00.0", None, ""),
        (
            "NVRM: Xid (0000:01:00): 31, Ch 0000000b, engmask 00000120",
            "31",
            "0000:01:00.0",
            None,
            "",
        ),
        ("NVRM: Xid (PCI:00000018:1A:00.0): 13, x", "13", "0018:1a:00.0", None, ""),
        (
            "NVRM: Xid (PCI:0000:3e:00 GPU-I:05): 94, pid=7194, Contained: SM (0x1)",
            "94",
            "0000:3e:00.0",
            7194,
            "",
        ),
        (
            "x NVRM: Xid (PCI:0000:05:00): 119, pid=1, name=nvidia-smi, Timeout of GPU0 GSP!",
            "119",
            "0000:05:00.0",
            1,
            "nvidia-smi",
        ),
    ],
)
def test_an_xid_is_read_in_every_form_the_driver_writes_it(read, text, code, pci, pid, process):
    (fault,) = read(text)
    assert isinstance(fault, DeviceFault)
    assert (code, pci, pid, process) == (fault.code, fault.pci, fault.pid, fault.process)
    assert fault.text == text[text.index("NVRM") :][:300]
    assert "" == fault.fault_class


@pytest.mark.parametrize(
    ("text", "code", "fault_class", "unit", "link"),
    [
        (
            "144, SAW_MVB Fatal XC0 i0 Link 00 (0x00000001 0x00000002 0x0 0x0)",
            "144", "fatal", "SAW_MVB", 0,
        ),
        (
            "145, pid=87, name=ray::Worker, RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x0409a0c2 0x8)",
            "145", "warning", "RLW_RXPIPE", 13,
        ),
        ("146, TLW_RX/P_PIPE0 Nonfatal XC0 i0 Link 0 (0x1)", "146", "warning", "TLW_RX/P_PIPE0", 0),
        ("147, TREX Nonfatal XC0 i0 Link 00 (0x1)", "147", "warning", "TREX", 0),
        ("148, NVLPW_CTRL Non-fatal XC0 i0 Link 00 (0xf)", "148", "warning", "NVLPW_CTRL", 0),
        ("149, NETIR Fatal XC0 i0 Link -1 (0x000fe406 0x00000000", "149", "fatal", "NETIR", -1),
        ("149, NETIR_EVT Fatal XC1 i0 Link 08 (0x004505c6)", "149", "fatal", "NETIR_EVT", 8),
        ("150, MSE_WATCHDOG Fatal XC0 i0 Link 00 (0x0)", "150", "fatal", "MSE_WATCHDOG", 0),
    ],
)  # fmt: skip
def test_nvlink_of_generation_5_says_itself_how_grave_it_is(
    read, text, code, fault_class, unit, link
):
    (fault,) = read(XID + text)
    assert (code, fault_class, unit, link) == (
        fault.code,
        fault.fault_class,
        fault.unit,
        fault.link,
    )


@pytest.mark.parametrize(
    ("text", "action", "fault_class"),
    [
        ("from 0x0 (None) to 0x1 (GPU Reset Required)", "gpu_reset", "warning"),
        ("from 0x0 (None) to 0x2 (Node Reboot Required)", "node_reboot", "warning"),
        ("from 0x1 (GPU Reset Required) to 0x4 (Drain and Reset)", "drain_and_reset", "warning"),
        ("from 0x2 (Node Reboot Required) to 0x0 (None)", "none", "info"),
    ],
)
def test_xid_154_says_which_recovery_the_device_needs(read, text, action, fault_class):
    (fault,) = read(
        XID + f"154, pid='<unknown>', name=<unknown>, GPU recovery action changed {text}"
    )
    assert ("154", action, fault_class) == (fault.code, fault.action, fault.fault_class)


@pytest.mark.parametrize(
    ("text", "code", "pci", "fault_class", "link"),
    [
        ("nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 28 LTSSM Fault Up",
         "sxid.20034", "0000:c1:00.0", "fatal", 28),
        ("nvidia-nvswitch0: SXid (PCI:0000:c2:00.0): 12028, Non-fatal, Link 32 egress (First)",
         "sxid.12028", "0000:c2:00.0", "", 32),
        ("SXid (PCI:0000:c2:00): 10004, thermal", "sxid.10004", "0000:c2:00.0", "", None),
    ],
)  # fmt: skip
def test_an_sxid_is_read_with_its_switch_and_link(read, text, code, pci, fault_class, link):
    (fault,) = read(text)
    assert (code, pci, fault_class, link) == (
        fault.code,
        fault.pci,
        fault.fault_class,
        fault.link,
    )


def test_lines_that_only_continue_an_sxid_are_none_of_their_own(read):
    head = "nvidia-nvswitch2: SXid (PCI:0000:c4:00.0): 22013, "
    found = read(
        head + "Non-fatal, Link 53 Minion Link NA interrupt",
        head + "Severity 0 Engine instance 53 Sub-engine instance 00",
        head + "Data {0x00000001, 0x00000002}",
    )
    assert ["sxid.22013"] == [one.code for one in found]


def test_fallen_off_the_bus_without_a_code_is_an_xid_79(read):
    (fault,) = read("NVRM: GPU 0000:1b:00.0: GPU has fallen off the bus.")
    assert ("79", "0000:1b:00.0") == (fault.code, fault.pci)


def test_a_fall_told_over_several_lines_finds_its_device(read):
    lines = (
        "NVRM: The NVIDIA GPU 0000:18:00.0",
        "NVRM: (PCI ID: 10de:2330) installed in this system has",
        "NVRM: fallen off the bus and is not responding to commands.",
    )
    (fault,) = read(*lines)
    assert ("79", "0000:18:00.0") == (fault.code, fault.pci)
    (fault,) = read("\n".join(lines))  # one record
    assert ("79", "0000:18:00.0") == (fault.code, fault.pci)


@pytest.mark.parametrize("turned", [False, True])
def test_a_fall_told_with_and_without_its_code_is_told_once(read, turned):
    lines = [
        XID + "79, pid=1122, GPU has fallen off the bus.",
        "NVRM: GPU 0000:05:00.0: GPU has fallen off the bus.",
    ]
    assert ["79"] == [one.code for one in read(*(lines[::-1] if turned else lines))]


def test_two_devices_that_fall_are_two_faults(read):
    found = read(
        "NVRM: GPU 0000:05:00.0: GPU has fallen off the bus.",
        "NVRM: GPU 0000:06:00.0: GPU has fallen off the bus.",
    )
    assert ["0000:05:00.0", "0000:06:00.0"] == [one.pci for one in found]


def test_the_drivers_line_about_a_uuid_names_the_device_of_later_faults(read):
    (fault,) = read(
        "NVRM: GPU at PCI:0000:05:00: GPU-f0c8a1de-0000-1111-2222-333344445555",
        "NVRM: GPU Board Serial Number: 1654321000000",
        XID + "48, pid=1, An uncorrectable double bit error (DBE) has been detected",
    )
    assert "GPU-f0c8a1de-0000-1111-2222-333344445555" == fault.uuid


@pytest.mark.parametrize(
    "text",
    [
        "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15",
        "NVRM: Xid",
        "NVRM: Xid (PCI:0000:05:00)",
        "NVRM: Xid (PCI:zz:05:00): 79, x",
        "NVRM: Xid (PCI:0000:05:00): many, x",
        "nvidia-nvswitch3: SXid",
        "nvidia 0000:05:00.0: enabling device",
    ],
)
def test_other_lines_of_the_driver_are_no_fault(read, text):
    assert [] == read(text)
