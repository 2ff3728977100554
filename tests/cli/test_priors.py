"""`rankscope feedback` and `rankscope priors` against a running collector."""

import io
import json
import shutil

import pytest
from tests.waiting import until

from rankscope.cli import asking
from rankscope.cli.main import main
from rankscope.collector.settings.collector import CollectorSettings

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
    out = capsys.readouterr().out

    def shown():
        assert 0 == main([*words, READ])
        return capsys.readouterr().out

    if "every share is the catalogue's" not in out:  # evaluation, which enters it, was behind
        until(shown, "the reset", lambda now: "every share is the catalogue's" in now)
    assert 0 == main([*words, READ, "--all"])
    assert fault in capsys.readouterr().out


@pytest.fixture
def given(address, recorded, capsys):
    """Return a function that gives the feedback of the incident once its end is this one."""

    def read(*last):
        words = ["explain", recorded.incident["id"], "--json", "--url", address, "--token", READ]

        def newest():
            assert 0 == main(words)
            return json.loads(capsys.readouterr().out)["handling"]["feedback"][-1]

        return until(newest, str(last), lambda row: (row["by"], row["verdict"]) == last)

    return read


def _confirmed(address, capsys):
    assert 0 == main(["priors", "--json", "--url", address, "--token", READ])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [row["fault"] for row in rows if row["confirmed"]]


def test_what_it_really_was_is_named_and_moves_the_priors(address, recorded, given, capsys):
    identity, ask = recorded.incident["id"], ["--url", address, "--token", ADMIN]
    named = ["--fault", "network.cable_errors", "--entity", "gpu-12/mlx5_0:1"]
    words = ["feedback", identity[:8], "wrong", *named, "--by", "ann", "--note", "loose plug"]
    assert 0 == main([*words, *ask])
    assert identity in capsys.readouterr().out
    row = given("ann", "wrong")
    assert ("network.cable_errors", "gpu-12/mlx5_0:1", "loose plug") == tuple(
        row[name] for name in ("fault", "entity", "note")
    )
    assert ["network.cable_errors"] == _confirmed(address, capsys)
    assert 0 == main(["feedback", identity, "withdraw", *ask])
    assert identity in capsys.readouterr().out
    given("ada", "correct")
    first = recorded.incident["root_cause"]["hypotheses"][0]["fault"]
    assert [first] == _confirmed(address, capsys)


@pytest.mark.parametrize(
    ("status", "said"),
    [(200, "ann says that the first cause is wrong: it was gpu.slow on GPU-1"), (202, "is behind")],
)
def test_what_a_collector_that_is_behind_has_not_applied_is_not_shown_as_done(
    monkeypatch, capsys, status, said
):
    last = {"by": "ann", "verdict": "wrong", "fault": "gpu.slow", "entity": "GPU-1"}
    document = {"id": "aaaa", "handling": {"feedback": [last]}}

    class Answer(io.BytesIO):
        def __init__(self):
            super().__init__(json.dumps(document).encode())
            self.status = status

    monkeypatch.setattr(asking.CollectorClient, "_opened", lambda *_, **__: Answer())
    assert 0 == main(["feedback", "aaaa", "wrong", "--fault", "gpu.slow"])
    assert said in capsys.readouterr().out


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
