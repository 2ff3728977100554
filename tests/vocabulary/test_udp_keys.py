"""Keys of datagrams over UDP: read from a file, the same on both sides."""

import pytest

from rankscope.vocabulary import udp_keys


def test_space_around_a_key_is_none_of_it(tmp_path):
    keys = []
    for number, text in enumerate(("sixteen bytes at least", " sixteen bytes at least\n")):
        (tmp_path / str(number)).write_text(text)
        keys.append(udp_keys.read(tmp_path / str(number)))
    assert keys[0] == keys[1]
    assert udp_keys.SIGNATURE_BYTES == len(udp_keys.signature(b"data", keys[0]))


def test_another_key_or_datagram_has_another_signature():
    signatures = {
        udp_keys.signature(data, key) for data in (b"data", b"date") for key in (b"a", b"b")
    }
    assert 4 == len(signatures)


@pytest.mark.parametrize(("text", "why"), [("short\n", "16 bytes"), (None, "No such file")])
def test_a_key_that_is_none_is_named(tmp_path, text, why):
    if text is not None:
        (tmp_path / "key").write_text(text)
    with pytest.raises(ValueError, match=f"key: .*{why}"):
        udp_keys.read(tmp_path / "key")
