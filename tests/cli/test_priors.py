"""`rankscope feedback` and `rankscope priors` against a running collector."""

import json
import shutil

import pytest

from rankscope.cli.main import main
from rankscope.collector.settings import CollectorSettings

READ, ADMIN = "read-token-0123456789", "admin-token-0123456789"


@pytest.fixture
def address(tmp_path, serving, recorded):
    """Return the address of a running collector in which one incident was confirmed."""
    shutil.copytree(recorded.folder, tmp_path / "data")
    tokens = [{"token": READ, "role": "read"}, {"token": ADMIN, "role": "admin"}]
    settings = CollectorSettings.model_validate(
        {
            "data_dir": tmp_path / "data",
            "http": {"listen": "127.0.0.1:0"},
            "api": {"tokens": tokens},
        }
    )
    with serving(settings) as address:
        yield address


def test_shares_are_shown_side_by_side_and_reset(address, recorded, capsys):
    fault = recorded.incident["root_cause"]["hypotheses"][0]["fault"]
    words = ["priors", "--url", address, "--token"]
    assert 0 == main([*words, READ])
    out = capsys.readouterr().out
    (line,) = [line for line in out.splitlines() if line.startswith(fault)]
    catalogue, learnt, confirmed = line.split()[1:]
    assert float(catalogue.rstrip("%")) < float(learnt.rstrip("%"))
    assert "1" == confirmed
    assert 0 == main([*words, READ, "--json"])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [fault] == [row["fault"] for row in rows if row["confirmed"]]
    assert 1 == main([*words, READ, "--reset"])
    assert "needs a token of role admin" in capsys.readouterr().err
    assert 0 == main([*words, ADMIN, "--reset"])
    assert "every share is the catalogue's" in capsys.readouterr().out
    assert 0 == main([*words, READ, "--all"])
    assert fault in capsys.readouterr().out


def test_what_it_really_was_is_named_and_moves_the_priors(address, recorded, capsys):
    identity = recorded.incident["id"]
    ask = ["--url", address, "--token", ADMIN]
    named = ["--fault", "network.cable_errors", "--entity", "gpu-12/mlx5_0:1"]
    words = ["feedback", identity[:8], "wrong", *named, "--by", "ann", "--note", "loose plug"]
    assert 0 == main([*words, *ask])
    assert "network.cable_errors" in capsys.readouterr().out
    assert 0 == main(["explain", identity, "--json", *ask])
    given = json.loads(capsys.readouterr().out)["handling"]["feedback"][-1]
    assert ("wrong", "network.cable_errors", "gpu-12/mlx5_0:1", "ann", "loose plug") == tuple(
        given[name] for name in ("verdict", "fault", "entity", "by", "note")
    )
    assert 0 == main(["priors", "--json", *ask])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert ["network.cable_errors"] == [row["fault"] for row in rows if row["confirmed"]]
    assert 0 == main(["feedback", identity, "withdraw", *ask])
    assert "the first cause is correct" in capsys.readouterr().out  # what was said before
    assert 0 == main(["priors", "--json", *ask])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    first = recorded.incident["root_cause"]["hypotheses"][0]["fault"]
    assert [first] == [row["fault"] for row in rows if row["confirmed"]]


def test_wrong_use_of_feedback_says_what_to_write(address, recorded, capsys):
    identity, ask = recorded.incident["id"], ["--url", address, "--token", ADMIN]
    assert 2 == main(["feedback", identity, "withdraw", "--fault", "gpu.slow", *ask])
    assert "withdraw takes" in capsys.readouterr().err
    assert 1 == main(["feedback", identity, "wrong", "--fault", "gpu.tired", *ask])
    assert "fault" in capsys.readouterr().err
    assert 1 == main(["feedback", "ffffffff", "correct", *ask])
    assert "ffffffff" in capsys.readouterr().err
    assert 1 == main(["feedback", identity, "correct", "--url", address, "--token", READ])
    assert "role admin" in capsys.readouterr().err
