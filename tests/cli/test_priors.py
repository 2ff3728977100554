"""`rankscope priors` against a running collector."""

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
