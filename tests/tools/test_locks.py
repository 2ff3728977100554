"""What an image is built of: each version is within its range, and has its hashes."""

import re

import pytest
from packaging.requirements import Requirement
from tools import locks

TEXT = locks.FILE.read_text()
LOCKED = {
    name: (version, hashes)
    for name, version, hashes in re.findall(
        r"^(\S+)==(\S+) ((?:\\\n    --hash=sha256:[0-9a-f]{64} ?)+)$", TEXT, re.MULTILINE
    )
}


def test_every_line_of_the_file_is_a_version_or_a_hash_of_one():
    assert TEXT.count("==") == len(LOCKED)
    rows = [row.rstrip(" \\") for row in TEXT.splitlines() if not row.startswith("#")]
    hashes = sum(found.count("--hash") for _, found in LOCKED.values())
    assert len(rows) == len(LOCKED) + hashes


@pytest.mark.parametrize("extra", locks.EXTRAS)
def test_what_an_extra_asks_for_is_locked_within_its_range(extra):
    for row in locks.ranges([extra]):
        wanted = Requirement(row)
        version, _ = LOCKED[wanted.name.lower().replace("_", "-")]
        assert wanted.specifier.contains(version), row


def test_resolutions_for_several_platforms_are_put_together():
    def report(version, digest):
        found = {"metadata": {"name": "A_b", "version": version}}
        return {
            "install": [
                {**found, "download_info": {"archive_info": {"hashes": {"sha256": digest}}}}
            ]
        }

    both = locks.locked([report("1.0", "f" * 64), report("1.0", "a" * 64)])
    assert {"a-b": ("1.0", {"a" * 64, "f" * 64})} == both
    expected = f"a-b==1.0 \\\n    --hash=sha256:{'a' * 64} \\\n    --hash=sha256:{'f' * 64}\n"
    assert locks.text(both).endswith(expected)
    with pytest.raises(ValueError, match=r"a-b: 1\.0 and 2\.0"):
        locks.locked([report("1.0", "f" * 64), report("2.0", "a" * 64)])
