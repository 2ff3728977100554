"""What reports are known by, without reading them."""

MARKS: tuple[bytes, ...] = (
    b'"DCGM Diagnostic"',
    b'"DCGM GPU Diagnostic"',
    b'{"node":',
    b"/return_code",
    b'"Defective Details"',
    b'"diagnosis/issue_details"',
    b'"bus_bw"',
    b'"nccl_version"',
    b'"failedNodes"',
    b'"totalNodes"',
    b"GPU sniff test",
    b"OUTLIER rank ",
    b"# Using devices",
)
"""Texts of which every report has one."""

LOG_MARKS = MARKS[-3:]
"""Those that stand in logs."""
_JSON_MARKS = MARKS[:-3]


def is_report(head: bytes) -> bool:
    """Tell whether a file that begins so is a report in JSON; others stand in logs."""
    lines = head.lstrip()
    if lines[:1] not in (b"{", b"[") and b"\n{" not in head and b"\n[" not in head:
        return False
    # nccl-tests write the whole environment before what they are known by.
    return any(mark in head for mark in _JSON_MARKS) or (b'"args":[' in head and b"_perf" in head)
