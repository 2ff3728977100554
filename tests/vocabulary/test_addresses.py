"""Where a probe finds its agent: the same rule on both sides."""

import os
from pathlib import Path

import pytest

from rankscope.vocabulary.addresses import UDP_PORT, agent_address, socket_paths

OWN = Path(f"/tmp/rankscope-{os.getuid()}/probe.sock")


def test_the_sockets_places_come_first_choice_first():
    run = Path("/run/rankscope/probe.sock")
    assert (run, OWN) == socket_paths({})
    assert (run, Path("/run/user/7/rankscope/probe.sock"), OWN) == socket_paths(
        {"XDG_RUNTIME_DIR": "/run/user/7"}
    )


@pytest.mark.parametrize("environ", [{}, {"RANKSCOPE_AGENT": ""}])
def test_without_a_setting_the_usual_places_are_tried(environ):
    assert ("unix", socket_paths(environ)) == agent_address(environ)


@pytest.mark.parametrize(
    ("setting", "address"),
    [
        ("unix:///run/x/a.sock", ("unix", (Path("/run/x/a.sock"),))),
        ("udp://10.0.0.1:9000", ("udp", ("10.0.0.1", 9000))),
        ("udp://10.0.0.1", ("udp", ("10.0.0.1", UDP_PORT))),
        ("udp://node-7.example:65535", ("udp", ("node-7.example", 65535))),
        ("udp://[::1]:9000", ("udp", ("::1", 9000))),
    ],
)
def test_a_setting_is_followed(setting, address):
    assert address == agent_address({"RANKSCOPE_AGENT": setting})


@pytest.mark.parametrize(
    "setting",
    ["unix://relative/path", "unix://", "udp://", "udp://host:", "udp://host:0", "udp://host:65536",
     "udp://host:x", "udp://:9000", "tcp://host:1", "host:9000", "/run/a.sock"],
)  # fmt: skip
def test_a_mistake_names_the_variable_and_the_form(setting):
    with pytest.raises(ValueError, match=r"RANKSCOPE_AGENT=.*write unix:///PATH or udp://HOST"):
        agent_address({"RANKSCOPE_AGENT": setting})
