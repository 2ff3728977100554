from pathlib import Path

import pytest

from rankscope.formats import exporters
from rankscope.formats.exporters import TableError


@pytest.fixture
def write(tmp_path):
    def to_file(text):
        path = tmp_path / "site.toml"
        path.write_text(text)
        return path

    return to_file


def test_a_sites_own_row_wins_and_the_others_stay(write, values):
    path = write(
        """
        vendor = "kunlun"
        [[row]]
        name = "temp"
        unit = "Cel"
        metric = "hw.temperature"
        attributes = {"hw.sensor" = "board"}
        [[row]]
        name = "state"
        metric = "hw.status"
        states = {"1" = "ok", "2" = "failed"}
        """
    )
    table = exporters.overridden(exporters.load("kunlun"), path)
    page = 'node_xpu_temp{card="0"} 44\nnode_xpu_state{card="0"} 2\nnode_xpu_clock{card="0"} 1\n'
    assert values("kunlun", page, table=table) == {
        ("hw.temperature", (("hw.sensor", "board"),)): 44.0,
        ("hw.status", (("hw.state", "failed"),)): 1.0,
        ("hw.frequency", (("domain", "sm"),)): 1e6,
    }


def test_a_site_may_rename_labels_and_prefix(write, read):
    path = write('name_prefixes = ["xpu_"]\n[identity]\nindex = ["slot"]\n')
    table = exporters.overridden(exporters.load("kunlun"), path)
    mapped = read("kunlun", 'xpu_temp{slot="3"} 44\n', table=table)
    assert [device.hw_id for device in mapped.devices] == ["kunlun-3"]


def test_a_prefix_that_the_exporter_was_told_is_stripped(values):
    table = exporters.load("cambricon").with_prefix("site_")
    page = 'site_power_usage{mlu="0"} 120\nmlu_frequency{mlu="0"} 1\n'
    found = {metric for metric, _ in values("cambricon", page, table=table)}
    assert found == {"hw.power", "hw.frequency"}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("vendor = ", "Invalid value"),
        ('vendor = "amd"', "write kunlun"),
        ('[[row]]\nmetric = "hw.power"', 'name is missing; add name = "..."'),
        ('[[row]]\nname = "x"', "write metric"),
        ('[[row]]\nname = "x"\nmetrik = "hw.power"', "no key metrik; did you mean metric?"),
        ('[[row]]\nname = "x"\nmetric = "hw.powr"', "no metric hw.powr"),
        ('[[row]]\nname = "x"\nunit = "kW"\nmetric = "hw.power"', "no unit kW"),
        ('[[row]]\nname = "x"\nunit = "MHz"\nmetric = "hw.power"', "MHz is no W"),
        ('[[row]]\nname = "x"\nunit = "Cel"\nmetric = "hw.temperature"', "needs hw.sensor"),
        (
            '[[row]]\nname = "x"\nunit = "W"\nmetric = "hw.power"\nattributes = {color = "red"}',
            "no attribute color",
        ),
        (
            '[[row]]\nname = "x"\nmetric = "hw.status"\nstates = {"1" = "fine"}',
            "one of ok, degraded, failed",
        ),
        ('[[row]]\nname = "x"\nfault = "often"', 'fault is "often"; write '),
    ],
)
def test_a_table_that_cannot_be_used_says_file_row_and_fix(text, complaint, write):
    with pytest.raises(TableError, match=complaint) as caught:
        exporters.overridden(exporters.load("kunlun"), write(text))
    assert "site.toml" in str(caught.value)


def test_a_table_that_is_not_there_says_so(tmp_path):
    with pytest.raises(TableError, match=r"none\.toml"):
        exporters.overridden(exporters.load("kunlun"), tmp_path / "none.toml")


def test_the_table_in_the_documentation_works(write, values):
    page = (Path(__file__).parents[3] / "docs" / "exporters.md").read_text()
    text = page.split("```toml\n")[1].split("```")[0]
    table = exporters.overridden(exporters.load("kunlun"), write(text))
    said = 'node_xpu_powerUsage{sn="S",card="0"} 90000\nnode_xpu_linkErrors_3{sn="S",card="0"} 4\n'
    assert values("kunlun", said, table=table) == {
        ("hw.power", ()): 90.0,
        ("hw.gpu.nvlink.errors", (("error.type", "crc"), ("link", 3))): 4.0,
    }
