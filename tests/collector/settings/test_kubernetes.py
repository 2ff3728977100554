"""The write-back is off by default, and cannot be on where there is no Kubernetes."""

import pytest
import yaml
from pydantic import ValidationError

from rankscope.cli.main import main
from rankscope.collector.settings.kubernetes import KubernetesSettings


@pytest.fixture(autouse=True)
def _outside(monkeypatch):
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)


def test_it_is_off_by_default_anywhere():
    assert not KubernetesSettings().write_back


def test_check_config_says_that_this_is_no_kubernetes(tmp_path, capsys):
    file = tmp_path / "collector.yaml"
    file.write_text(yaml.safe_dump({"kubernetes": {"write_back": True}}))
    assert 1 == main(["check-config", str(file)])
    error = capsys.readouterr().err
    assert "write_back: this process does not run in Kubernetes" in error
    assert "or set api_server and credentials" in error


def test_within_kubernetes_the_token_must_be_mounted(tmp_path, monkeypatch):
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    with pytest.raises(ValidationError, match=r"no service account's token at .*/token"):
        KubernetesSettings(write_back=True, credentials=tmp_path)
    (tmp_path / "token").write_text("t")
    found = KubernetesSettings(write_back=True, credentials=tmp_path)
    assert "https://[fd00::1]:443" == found.server
