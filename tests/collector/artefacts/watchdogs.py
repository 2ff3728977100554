"""Lines of ranks that waited in a collective, as each version of torch writes them."""

# ruff: noqa: E501  lines are as long as they are printed

WHOLE = "[PG ID 0 PG GUID 0(default_pg) Rank {place}]"
TENSOR = "[PG ID 5 PG GUID {guid}(TENSOR_MODEL_PARALLEL_GROUP) Rank {{place}}]"
DATA = "[PG ID 9 PG GUID {guid}(DATA_PARALLEL_GROUP) Rank {{place}}]"

GAVE_UP = "0513 12:15:00"
"""When the watchdogs gave up, as C++ code writes times: without a year. They had waited 600 s."""

VERSIONS = ("2.0", "2.3", "2.4", "2.5", "2.8")


def gave_up(rank, *, place=None, number=61, op="ALLREDUCE", size=64, group=WHOLE, version="2.8"):
    """Return what a rank writes whose collective of that number timed out; `place` in its group."""
    place = rank if place is None else place
    stamp = "E" if version < "2.4" else f"E{GAVE_UP}.714781661"
    prefix = f"[{stamp} ProcessGroupNCCL.cpp:685]"
    prefix = prefix if version == "2.0" else f"[rank{rank}]:{prefix}"
    sizes = "" if version == "2.0" else f", NumelIn={size}, NumelOut={size}"
    waited = (
        f"{prefix} [Rank {place}] Watchdog caught collective operation timeout: "
        f"WorkNCCL(SeqNum={number}, OpType={op}{sizes}, Timeout(ms)=600000) ran for 600042 "
        "milliseconds before timing out.\n"
    )
    return waited + _status(prefix, place, number, group, version)


def _status(prefix, place, number, group, version):
    old = (
        f"{number}, last enqueued NCCL work: {number + 2}, last completed NCCL work: {number - 1}."
    )
    if version == "2.0":
        return f"{prefix} Some NCCL operations have failed or timed out.\n"
    if version == "2.3":
        return f"{prefix} [PG 0 Rank {place}] Timeout at NCCL work: {old}\n"
    if version < "2.8":
        named = (
            f"[PG 0 (default_pg) Rank {place}]" if version == "2.4" else group.format(place=place)
        )
        said = "Exception (either an error or timeout) detected by watchdog at work:"
        return f"{prefix} {named} {said} {old}\n"
    return (
        f"{prefix} {group.format(place=place)}  failure detected by watchdog at work sequence id: "
        f"{number} PG status: last enqueued work: {number + 2}, last completed work: {number - 1}\n"
    )


def told(rank, enqueued, completed, *, by=1):
    """Return what a rank writes that learns of another's time-out, with its own numbers."""
    return (
        f"[rank{rank}]:[E{GAVE_UP}.914781660 ProcessGroupNCCL.cpp:1870] "
        f"{WHOLE.format(place=rank)} Received a dump signal due to a collective timeout from  rank "
        f"{by} and we will try our best to dump the debug info. Last enqueued NCCL work: {enqueued},"
        f" last completed NCCL work: {completed}.This is most likely caused by incorrect usages\n"
    )


def raised(rank, error):
    """Return the traceback that a rank writes as an exception ends it."""
    lines = (
        "Traceback (most recent call last):", '  File "/w/train.py", line 88, in <module>',
        "    train(config)", error,
    )  # fmt: skip
    return "".join(f"[rank{rank}]: {line}\n" for line in lines)


def stuck(rank):
    """Return what the monitor writes of a watchdog that shows no sign of life."""
    return (
        f"[rank{rank}]:[E0513 12:23:01.393819762 ProcessGroupNCCL.cpp:1743] "
        f"{WHOLE.format(place=rank)} ProcessGroupNCCL's watchdog got stuck for 480 seconds without "
        "making progress in monitoring enqueued collectives.\n"
    )
