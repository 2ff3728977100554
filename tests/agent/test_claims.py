import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from rankscope.agent import claims
from rankscope.vocabulary import addresses


def test_the_socket_may_be_written_by_everyone_in_a_folder_only_we_may_write(folder):
    path = folder / "run" / "probe.sock"
    held = claims.claim(path, {})
    assert stat.S_IMODE(path.stat().st_mode) == 0o666
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o755
    held.release()


def test_nobody_else_may_hold_the_lock_of_the_socket(folder):
    """Reading it would be enough to; one that an older agent left is closed too."""
    path = folder / "probe.sock"
    lock = folder / "probe.sock.lock"
    lock.touch(0o644)
    claims.claim(path, {}).release()
    assert 0o600 == stat.S_IMODE(lock.stat().st_mode)


def test_the_folder_is_open_to_others_whatever_the_umask(folder):
    before = os.umask(0o077)
    try:
        held = claims.claim(folder / "run" / "probe.sock", {})
    finally:
        os.umask(before)
    assert stat.S_IMODE((folder / "run").stat().st_mode) == 0o755
    held.release()


def test_a_second_claim_says_who_holds_the_first_and_what_to_do(folder):
    path = folder / "probe.sock"
    held = claims.claim(path, {})
    with pytest.raises(claims.ClaimError, match=rf"pid {os.getpid()}.*probe\.socket"):
        claims.claim(path, {})
    held.release()


def test_a_refused_claim_leaves_the_first_ones_socket_alone(folder):
    path = folder / "probe.sock"
    held = claims.claim(path, {})
    with pytest.raises(claims.ClaimError):
        claims.claim(path, {})
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        line.connect(str(path))
        line.send(b"still here")
    assert held.socket.recv(100) == b"still here"
    held.release()


def test_a_socket_left_by_an_agent_that_was_killed_is_replaced(folder):
    path = folder / "probe.sock"
    code = (
        "import os, pathlib, sys; from rankscope.agent import claims;"
        "held = claims.claim(pathlib.Path(sys.argv[1]), {}); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert path.is_socket()
    held = claims.claim(path, {})
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        line.connect(str(path))
    held.release()


def test_a_released_claim_can_be_taken_again_and_leaves_no_socket(folder):
    path = folder / "probe.sock"
    claims.claim(path, {}).release()
    assert not path.exists()
    claims.claim(path, {}).release()


def test_a_plain_file_in_the_sockets_place_is_not_deleted(folder):
    path = folder / "probe.sock"
    path.write_text("somebody's work")
    with pytest.raises(claims.ClaimError, match="not a socket"):
        claims.claim(path, {})
    assert path.read_text() == "somebody's work"


def test_a_path_too_long_for_a_socket_says_so(folder):
    path = folder / ("x" * 120) / "probe.sock"
    with pytest.raises(claims.ClaimError, match="107"):
        claims.claim(path, {})


def test_without_an_override_the_first_usable_place_of_the_contract_is_taken(folder, monkeypatch):
    places = (Path("/proc/rankscope/probe.sock"), folder / "second" / "probe.sock")
    monkeypatch.setattr(addresses, "socket_paths", lambda environ: places)
    held = claims.claim(None, {})
    assert held.path == places[1]
    held.release()


def test_without_any_usable_place_every_refusal_is_told(monkeypatch):
    places = (Path("/proc/one/probe.sock"), Path("/proc/two/probe.sock"))
    monkeypatch.setattr(addresses, "socket_paths", lambda environ: places)
    with pytest.raises(claims.ClaimError, match=r"/proc/one.*/proc/two"):
        claims.claim(None, {})


def test_a_folder_of_another_user_is_not_trusted(folder, monkeypatch):
    strange = folder / "strange"
    strange.mkdir(mode=0o777)
    if os.geteuid() == 0:  # everybody trusts root's folders
        os.chown(strange, 12345, 12345)
    owner = strange.stat().st_uid
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    with pytest.raises(claims.ClaimError, match=f"belongs to user {owner}"):
        claims.claim(strange / "probe.sock", {})
