"""What is called how in NATS, and which partition a job or a host is in. Names are for good."""

import hashlib

LEASES = "rankscope-leases"
"""Key-value bucket: who owns which partition."""
HOSTS = "rankscope-hosts"
"""Key-value bucket: the partitions of the jobs that run on each host."""
SNAPSHOTS = "rankscope-snapshots"
"""Object store: the newest state of each partition."""
PROFILES, TRACES = "rankscope-profiles", "rankscope-traces"
"""Key-value bucket of profiles, and object store of their traces."""
DECISIONS = "rankscope-decisions"
ASIDE = "rankscope-aside"
KEPT, CHANGED, POKE = "rankscope.kept", "rankscope.changed", "rankscope.poke"
"""Subjects outside of any stream: actions that the store has, changes of incidents, new leases."""
ASKING = "rankscope.asking"
"""Likewise: hosts whose agents ask what they are to profile."""


def stream(partition: int) -> str:
    """Return the stream of a partition's payloads."""
    return f"rankscope-{partition}"


def subject(partition: int) -> str:
    """Return the subject of a partition's payloads."""
    return f"rankscope.log.{partition}"


def decisions(partition: int) -> str:
    """Return the subject of what evaluation decided under load."""
    return f"rankscope.decisions.{partition}"


def aside(partition: int) -> str:
    """Return the subject of payloads that could not be read."""
    return f"rankscope.aside.{partition}"


def of_job(job: str, partitions: int) -> int:
    """Return the partition of a job's telemetry.

    Jobs of one id in two clusters, told apart as `id@cluster`, are in one.
    """
    return _hashed(f"job {job.partition('@')[0]}", partitions)


def of_host(host: str, partitions: int) -> int:
    """Return the partition of telemetry of a host on which no job is known to run."""
    return _hashed(f"host {host}", partitions)


def _hashed(text: str, partitions: int) -> int:
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % partitions
