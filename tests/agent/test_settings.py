from pathlib import Path

import pytest

from rankscope.agent.settings import FOREIGN, AgentSettings
from rankscope.collector.settings.collector import CollectorSettings
from rankscope.settings import SettingsError, load


def loaded(tmp_path: Path, text: str = "", **environ: str) -> AgentSettings:
    path = tmp_path / "agent.yaml"
    path.write_text(text)
    return load(AgentSettings, path=path, environ=environ, foreign=FOREIGN)


def test_every_default_is_usable_and_is_the_contracts(tmp_path):
    settings = loaded(tmp_path)
    assert settings.export.listen == ":9470"
    assert settings.export.dcgm_names == "off"
    assert settings.export.max_series == 2000
    assert settings.export.groups is False
    assert settings.push.endpoint == "http://127.0.0.1:8470"
    assert settings.push.interval_seconds == 1.0
    assert settings.readers.period_seconds == 5.0
    assert settings.spool.max_bytes == 64 << 20
    assert settings.probe.udp_listen == ""
    assert settings.node.host is None


def test_the_contracts_variables_set_their_keys(tmp_path):
    settings = loaded(
        tmp_path,
        RANKSCOPE_EXPORT__LISTEN="127.0.0.1:1234",
        RANKSCOPE_NODE__HOST="gpu-12",
        RANKSCOPE_JOB_ID="the probe's, not ours",
    )
    assert settings.export.listen == "127.0.0.1:1234"
    assert settings.node.host == "gpu-12"


@pytest.mark.parametrize("names", ["old", "new", "both"])
def test_names_of_dcgm_exporter_are_asked_for_by_generation(tmp_path, names):
    assert loaded(tmp_path, RANKSCOPE_EXPORT__DCGM_NAMES=names).export.dcgm_names == names


def test_an_unknown_generation_of_names_stops_the_start(tmp_path):
    with pytest.raises(SettingsError, match=r"export\.dcgm_names"):
        loaded(tmp_path, RANKSCOPE_EXPORT__DCGM_NAMES="4.8")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("export: {listen: 9470}", "export.listen"),
        ("export: {listen: 'here:none'}", "export.listen"),
        ("export: {listen: '::1:9470'}", "export.listen"),
        ("push: {endpoint: 'localhost:8470'}", "push.endpoint"),
        ("push: {endpoint: 'ftp://localhost'}", "push.endpoint"),
        ("push: {endpoint: 'http://host:99999'}", "push.endpoint"),
        ("push: {endpoint: 'http://host/?token=1'}", "push.endpoint"),
        ("push: {interval_seconds: 0}", "push.interval_seconds"),
        ("node: {host: ' '}", "node.host"),
        ("spool: {max_bytes: 1}", "spool.max_bytes"),
        ("probe: {udp_listen: '8471'}", "probe.udp_listen"),
        ("probe: {udp_key_file: /nowhere/key}", "probe.udp_key_file"),
        ("pusch: {endpoint: ''}", "pusch"),
    ],
)
def test_a_bad_value_stops_the_start_and_names_its_key(tmp_path, text, key):
    with pytest.raises(SettingsError) as caught:
        loaded(tmp_path, text)
    assert [problem.key for problem in caught.value.problems] == [key]


def test_an_empty_endpoint_and_an_empty_listen_switch_those_parts_off(tmp_path):
    settings = loaded(tmp_path, "push: {endpoint: ''}\nexport: {listen: ''}")
    assert settings.push.endpoint == ""
    assert settings.export.listen == ""


def test_the_token_is_never_shown(tmp_path):
    settings = loaded(tmp_path, RANKSCOPE_PUSH__TOKEN="hunter2")
    assert "hunter2" not in repr(settings)
    assert settings.push.token.get_secret_value() == "hunter2"


def test_variables_of_the_collector_are_no_mistake_in_the_agents_environment(tmp_path):
    sections = set(CollectorSettings.model_fields) - {"data_dir"}
    assert sections <= set(FOREIGN)
    assert not set(AgentSettings.model_fields) & set(FOREIGN)
    assert loaded(tmp_path, RANKSCOPE_HTTP__LISTEN="127.0.0.1:0") == loaded(tmp_path)
