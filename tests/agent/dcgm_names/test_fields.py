"""The fields against the table they come from, the vocabulary, and the reader of dcgm-exporter."""

import tomllib
from importlib import resources

import pytest
from tests.examples import told

from rankscope.agent.attribution import DeviceAttribution
from rankscope.agent.dcgm_names import DcgmPage
from rankscope.agent.dcgm_names.fields import fields
from rankscope.formats import exporters
from rankscope.vocabulary import metrics
from rankscope.vocabulary.samples import TelemetryResource

WITHOUT_A_READING = {"DCGM_FI_DEV_VGPU_LICENSE_STATUS"}
ROUNDED = {
    "hw.power",  # six digits, as DCGM writes it
    "hw.gpu.nvlink.throughput",  # old: whole MB/s
}


def rows():
    text = resources.files("rankscope.formats.exporters").joinpath("dcgm.toml").read_text()
    return tomllib.loads(text)["row"]


@pytest.mark.parametrize(("names", "key"), [("old", "name"), ("new", "new")])
def test_every_field_that_dcgm_exporter_shows_by_default_can_be_shown(names, key):
    default = {row[key] for row in rows() if row.get("on")}
    assert default - {one.name for one in fields(names)} == WITHOUT_A_READING


@pytest.mark.parametrize("names", ["old", "new", "both"])
def test_a_name_stands_once(names):
    found = [one.name for one in fields(names, links=18)]
    assert len(found) == len(set(found))


def test_a_field_is_made_of_metrics_of_the_vocabulary():
    for one in fields("both", links=1):
        with told(one=one.name):
            catalogue = metrics.catalogue()
            made_of = one.derived[::2] or ([one.metric] if one.metric else [])
            assert made_of or one.observed
            for name in made_of:
                assert name in catalogue
            if one.metric and not one.observed:
                metric = catalogue[one.metric]
                assert set(one.fixed) - {*metric.attributes, *metric.optional} == set()
                for name, value in one.fixed.items():
                    assert value in metric.values.get(name, (value,))


@pytest.mark.parametrize("names", ["old", "new"])
def test_a_reader_of_dcgm_exporter_gets_back_what_the_page_was_made_from(names, gpu):
    samples = gpu(0)
    dcgm_page = DcgmPage(names=names, host="n1", attribution=DeviceAttribution())
    series = [
        (TelemetryResource(host="n1"), one.metric, one.attributes, one.value) for one in samples
    ]
    page, _, _ = dcgm_page.render(series, 1.0, room=1000)
    mapped = exporters.PageMapping(exporters.load("nvidia")).read([page.encode()], now=1.0)
    told = {
        (one.metric, frozenset(pair for pair in one.attributes if pair[0] != "source")): one.value
        for one in mapped.samples
    }
    plain = [one for one in samples if {name for name, _ in one.attributes} <= PLAIN]
    compared = 0
    for one in plain:
        back = told.get((one.metric, frozenset(one.attributes)))
        if back is not None:
            compared += 1
            near = 1e-2 if one.metric in ROUNDED else 1e-6
            assert back == pytest.approx(one.value, rel=near), one.metric
    assert compared > 30


PLAIN = {
    "hw.id",
    "gpu",
    "hw.vendor",
    "hw.sensor",
    "domain",
    "reason",
    "state",
    "direction",
    "pipe",
    "error.type",
    "action",
}
"""Attributes that dcgm-exporter's names keep; links and parts of memory are added up."""
