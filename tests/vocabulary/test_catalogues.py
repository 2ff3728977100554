"""Events, faults and kinds of findings as data: what each names, the others define."""

import re
from importlib import resources

import pytest
from tests.vocabulary.contract import FAULTS

from rankscope.vocabulary import entities, events, faults, findings, metrics, tables


def test_the_faults_of_the_contract_are_there_in_its_order():
    """More may come, none may go or be renamed."""
    wanted = list(FAULTS)
    assert wanted == [fault for fault in faults.catalogue() if fault in wanted]


def test_a_fault_stands_in_the_file_of_its_family():
    for family in (*faults.FAMILIES, faults.UNKNOWN):
        text = resources.files("rankscope.vocabulary.faults").joinpath(f"{family}.toml")
        ids = re.findall(r'^id = "(.+)"', text.read_text(encoding="utf-8"), re.MULTILINE)
        assert {family} == {fault.partition(".")[0] for fault in ids}


@pytest.mark.parametrize("fault", faults.catalogue().values(), ids=lambda fault: fault.id)
def test_a_fault_points_at_known_entities_and_has_words(fault):
    assert fault.entities
    assert set(fault.entities) <= set(entities.ENTITY_TYPES)
    assert fault.severity in faults.SEVERITIES
    for words in (fault.title, fault.help, fault.title_zh, fault.help_zh):
        assert words.strip() == words != ""
        assert not words.endswith((".", "。"))


@pytest.mark.parametrize(
    ("fault", "points_at"),
    [
        ("gpu.thermal_throttle", {"gpu", "host"}),
        ("host.cpu_contention", {"host"}),
        ("software.stuck_process", {"rank"}),
        ("software.dataloader_slow", {"rank", "host", "job"}),
        ("memory.gpu_leak", {"rank", "job"}),
        ("software.regression", {"code"}),
        ("network.switch", {"switch"}),
        ("host.storage_slow", {"storage"}),
        ("balance.expert", {"group"}),
        ("network.nic_down", {"nic"}),
        ("memory.host_leak", {"process"}),
    ],
)
def test_faults_point_at_what_the_contract_puts_in_brackets(fault, points_at):
    assert points_at == set(faults.catalogue()[fault].entities)


def test_a_fault_between_ranks_makes_the_exchange_longer():
    rows = faults.catalogue().values()
    assert {"exchange"} == {row.replaces for row in rows if row.id.startswith("network.")}
    assert "work" == faults.catalogue()[faults.UNKNOWN].replaces


def test_a_part_of_a_step_that_is_none_is_refused_with_what_to_write():
    text = resources.files("rankscope.vocabulary.faults").joinpath("network.toml")
    wrong = text.read_text(encoding="utf-8").replace('"exchange"', '"exchagne"', 1)
    with pytest.raises(tables.TableError, match=r"nic_down: replaces is .* or exchange"):
        tables.rows(faults.FaultKind, wrong, "fault", others=None)


def test_severities_come_worst_first():
    assert ("critical", "warning", "info") == faults.SEVERITIES


def test_the_events_of_the_contract_come_first():
    assert [
        "gpu.fault", "log.fault", "process.exit", "host.oom_kill", "scheduler.event",
        "training.phase", "training.numeric", "change", "process.stack",
    ] == list(events.catalogue())[:9]  # fmt: skip


@pytest.mark.parametrize("event", events.catalogue().values(), ids=lambda event: event.name)
def test_closed_sets_of_an_event_belong_to_its_attributes(event):
    assert set(event.values) <= set(event.attributes)
    assert event.help


def test_phases_and_roles_are_closed_sets():
    known = events.catalogue()
    phases = ("init", "train", "eval", "checkpoint", "shutdown")
    assert phases == known["training.phase"].values["phase"]
    assert ("root", "cascade", "confirmation") == known["log.fault"].values["role"]


@pytest.mark.parametrize("kind", findings.catalogue().values(), ids=lambda kind: kind.kind)
def test_a_kind_of_finding_stands_on_known_entities_and_signals(kind):
    assert re.fullmatch(r"[a-z]+\.[a-z_]+", kind.kind)
    assert set(kind.entities) <= set(entities.ENTITY_TYPES)
    assert kind.signals
    assert set(kind.signals) <= {*metrics.catalogue(), *events.catalogue()}
    assert kind.family
    assert kind.help
    assert kind.kind.partition(".")[0] in kind.entities


def test_what_stops_slows_or_corrupts_a_job_is_a_symptom():
    """Evidence alone says nothing of what it does to the job."""
    kinds = findings.catalogue().values()
    assert {"none"} == {kind.effect for kind in kinds if not kind.symptom}
    assert {"stops", "slows", "corrupts"} <= {kind.effect for kind in kinds if kind.symptom}


@pytest.mark.parametrize("catalogue", [metrics, events, faults, findings])
def test_a_catalogue_is_read_once(catalogue):
    assert catalogue.catalogue() is catalogue.catalogue()
