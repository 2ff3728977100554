"""Where the agent keeps what outlives it."""

import pytest

from rankscope.agent import state


def test_the_default_folder_is_the_users_own_where_the_systems_is_not_ours(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setattr(state, "_SYSTEM", tmp_path / "file")
    chosen = state.folder("spool", {"XDG_STATE_HOME": "/state", "HOME": "/home/me"})
    assert str(chosen) == "/state/rankscope/spool"
    chosen = state.folder("state", {"HOME": "/home/me"})
    assert str(chosen) == "/home/me/.local/state/rankscope/state"


def test_the_default_folder_is_the_systems_where_it_may_be_written(tmp_path, monkeypatch):
    monkeypatch.setattr(state, "_SYSTEM", tmp_path / "lib")
    assert state.folder("spool", {"HOME": "/home/me"}) == tmp_path / "lib" / "spool"


def test_a_folder_that_cannot_be_had_is_told_with_its_setting(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(state.StateError, match=r"node\.state"):
        state.opened(tmp_path / "file" / "state", {})
    assert state.opened(tmp_path / "new" / "state", {}).is_dir()


def test_a_file_is_rewritten_whole_or_not_at_all_and_nothing_is_left_beside_it(tmp_path):
    path = tmp_path / "kept.json"
    state.rewrite(path, "one")
    state.rewrite(path, "two")
    assert path.read_text() == "two"
    assert list(tmp_path.iterdir()) == [path]
    (tmp_path / "folder.json").mkdir()  # stands for a file that cannot be replaced
    with pytest.raises(OSError, match="folder"):
        state.rewrite(tmp_path / "folder.json", "three")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["folder.json", "kept.json"]
