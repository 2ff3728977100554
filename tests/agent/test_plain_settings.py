"""Settings read in a process of their own are the same settings, and the same errors."""

import os

import pytest

from rankscope import settings
from rankscope.agent.plain_settings import PlainSection, apart, plain
from rankscope.agent.settings import AgentSettings

FILE = """
push: {endpoint: "http://collector:8790", token: hidden}
node: {attributes: {rack: r7}, state: /var/state}
logs:
  files: [{path: "/logs/*.log", job: j, rank: 3}]
exporters:
  targets: [{url: "http://127.0.0.1:9400/metrics"}]
"""


@pytest.fixture
def given(tmp_path):
    path = tmp_path / "agent.yaml"
    path.write_text(FILE)
    return lambda: settings.load(AgentSettings, path=path, environ={})


def same(one, other):
    if isinstance(one, PlainSection):
        assert set(vars(one)) == set(type(other).model_fields)
        for name, value in vars(one).items():
            same(value, getattr(other, name))
    elif isinstance(one, tuple):
        assert len(one) == len(other)
        for mine, its in zip(one, other, strict=True):
            same(mine, its)
    elif hasattr(one, "get_secret_value"):
        assert one.get_secret_value() == other.get_secret_value()
    else:
        assert one == other


def test_what_comes_from_the_other_process_is_what_was_loaded(given):
    found = apart(given)
    assert found.push.token.get_secret_value() == "hidden"
    same(found, given())


def test_no_secret_is_shown(given):
    assert "hidden" not in repr(vars(plain(given()).push))


def test_a_mistake_is_told_as_it_would_be_here(tmp_path):
    path = tmp_path / "agent.yaml"
    path.write_text("push: {endpoin: x}\nreaders: {period_seconds: 0}\n")

    def load():
        return settings.load(AgentSettings, path=path, environ={})

    with pytest.raises(settings.SettingsError) as here:
        load()
    with pytest.raises(settings.SettingsError) as there:
        apart(load)
    assert str(there.value) == str(here.value)
    assert there.value.problems == here.value.problems


def test_no_process_is_left_behind(given, monkeypatch):
    children = []
    real = os.fork

    def fork():
        child = real()
        children.append(child)
        return child

    monkeypatch.setattr(os, "fork", fork)
    apart(given)
    with pytest.raises(ChildProcessError):
        os.waitpid(children[0], os.WNOHANG)
