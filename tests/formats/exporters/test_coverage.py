"""Which names of the vendors are understood: mapped, or left out for a stated reason."""

import pytest

from rankscope.formats import exporters
from rankscope.formats.exporters.units import UNITS
from rankscope.vocabulary import metrics

from .conftest import FIXTURES

PAGES = {
    "nvidia": ("nvidia", "nvidia-new", "nvidia-fabric"),
    "ascend": ("ascend",),
    "cambricon": ("cambricon",),
    "amd": ("amd",),
    "hygon": ("hygon", "hygon-hcu"),
    "metax": ("metax", "metax-stripped"),
    "kunlun": ("kunlun",),
}


def names_of(vendor):
    return (FIXTURES / f"{vendor}.names").read_text().split()


@pytest.mark.parametrize("vendor", exporters.VENDORS)
def test_every_known_name_of_a_vendor_is_mapped_or_left_out_with_a_reason(vendor):
    table = exporters.load(vendor)
    names = names_of(vendor)
    unknown = [name for name in names if table.find(name) is None]
    assert unknown == []  # 95 % was asked for
    for name in names:
        found = table.find(name)
        assert found is not None
        row = found[0]
        assert row.targets or row.fault or len(row.ignore) > 10 or row.name in INFO
    assert len(names) > 20


INFO = {
    "serial_number", "container", "npu_container_info", "npu_chip_info_serial_number",
}  # fmt: skip
"""Rows of which only the labels are wanted."""


@pytest.mark.parametrize("vendor", exporters.VENDORS)
def test_the_pages_of_a_vendor_hold_every_known_name_of_it(vendor):
    shown = {
        line.split("{")[0].split(" ")[0]
        for page in PAGES[vendor]
        for line in (FIXTURES / f"{page}.prom").read_text().splitlines()
        if not line.startswith("#")
    }
    assert set(names_of(vendor)) <= shown


@pytest.mark.parametrize(
    ("vendor", "page"), [(vendor, page) for vendor, pages in PAGES.items() for page in pages]
)
def test_a_vendor_is_told_by_the_names_of_its_page(vendor, page):
    text = (FIXTURES / f"{page}.prom").read_text()
    names = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    table = exporters.detect(names | {"go_goroutines", "process_cpu_seconds_total"})
    assert table is not None
    assert table.vendor == vendor


def test_a_page_of_nobody_we_know_has_no_vendor():
    assert exporters.detect({"go_goroutines", "node_load1", "nvidia_smi_power_draw_watts"}) is None


@pytest.mark.parametrize(
    ("vendor", "page"), [(vendor, page) for vendor, pages in PAGES.items() for page in pages]
)
def test_everything_said_is_in_the_vocabulary_once_and_names_its_source(vendor, page, read):
    mapped = read(vendor, page=page)
    seen = set()
    for sample in mapped.samples:
        metric = metrics.catalogue()[sample.metric]
        pairs = dict(sample.attributes)
        assert pairs.pop("source") == "exporter"
        assert pairs["hw.vendor"] == vendor
        names = set(pairs)
        assert set(metric.attributes) <= names
        assert names <= {*metric.attributes, *metric.optional}
        for name, known in metric.values.items():
            assert name not in pairs or pairs[name] in known
        assert sample.attributes == tuple(sorted(sample.attributes))
        assert sample.at == 1_700_000_000.0
        assert (sample.metric, sample.attributes) not in seen
        seen.add((sample.metric, sample.attributes))
    assert len(seen) > 8


def test_the_factors_written_in_the_table_of_dcgm_are_those_of_its_units():
    import tomllib  # noqa: PLC0415
    from importlib import resources  # noqa: PLC0415

    text = resources.files(exporters).joinpath("dcgm.toml").read_text()
    rows = tomllib.loads(text)["row"]
    assert len(rows) > 90
    for row in rows:
        assert UNITS[row["unit"]][1] == row["factor"], row["name"]
        assert "new" not in row or UNITS[row["new_unit"]][1] == row["new_factor"], row["name"]
        assert len(row["help"]) > 10
