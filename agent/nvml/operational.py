"""GPU Operational Events: what the driver itself says of an error, and whether another caused it.

Drivers from R620 have them (R615 as a preview). An event may carry the XID that the kernel log has
for the same error; its attributes say PRIMARY or PROPAGATED. Runs in the worker.
"""

import time
from collections.abc import Iterator
from typing import Any

import pynvml

from .asking import PolledDevice, code_of
from .subjects.identity import text

_NEEDS = (
    "nvmlEventSetRegisterGpuOperationalEvents_v1",
    "nvmlEventSetWait_v3",
    "nvmlEventSetGetContextCount_v1",
)
_RECOVERABLE = 30
"""The least severity that is asked for: below are news, and errors that were corrected."""
_LEGACY_XID = 1
_MOST_CONTEXTS = 16
_MOST_APART_SECONDS = 300.0
"""A time of the driver's that is further from ours is not that of the event by our clock."""


def supported() -> bool:
    """Return whether these bindings have the functions; the driver may still not."""
    return all(hasattr(pynvml, name) for name in _NEEDS)


def events(device: PolledDevice, milliseconds: int) -> Iterator[dict[str, Any]]:
    """Yield the events of a device as the worker's messages have them. Raises NVMLError."""
    held = pynvml.nvmlEventSetCreate()
    try:
        config = pynvml.c_nvmlGpuOperationalEventConfig_v1_t(
            uuid=device.uuid.encode(), minSeverity=_RECOVERABLE
        )
        pynvml.nvmlEventSetRegisterGpuOperationalEvents_v1(held, config)
        while True:
            found = pynvml.c_nvmlEventSetWait_v3_t()
            found.timeoutMs = milliseconds
            try:
                pynvml.nvmlEventSetWait_v3(held, found)
            except pynvml.NVMLError as error:
                if code_of(error) != pynvml.NVML_ERROR_TIMEOUT:
                    raise
                continue
            if int(found.dataType) == pynvml.NVML_EVENT_DATA_TYPE_GPU_OPERATIONAL_EVENT:
                yield _message(held, found)
    finally:
        pynvml.nvmlEventSetFree(held)


def _message(held: Any, found: Any) -> dict[str, Any]:
    now, at = time.time(), int(found.timestampUsec) / 1e6
    return {
        "xid": _xid(held),
        "severity": int(found.severity),
        "attributes": int(found.attributes),
        "module": text(found.sourceModule),
        "at": round(at if abs(now - at) <= _MOST_APART_SECONDS else now, 3),
    }


def _xid(held: Any) -> int:
    """Return the XID of the event that the set told last, 0 where it has none."""
    contexts = pynvml.c_nvmlEventSetGetContextCount_v1_t()
    pynvml.nvmlEventSetGetContextCount_v1(held, contexts)
    for index in range(min(int(contexts.count), _MOST_CONTEXTS)):
        info = pynvml.c_nvmlEventSetGetContextInfo_v1_t(index=index)
        pynvml.nvmlEventSetGetContextInfo_v1(held, info)
        if int(info.nvmlGpuOperationalEventContextType) == _LEGACY_XID:
            xid = pynvml.c_nvmlEventSetGetGpuOperationalEventContextLegacyXid_v1_t(index=index)
            pynvml.nvmlEventSetGetGpuOperationalEventContextLegacyXid_v1(held, xid)
            return int(xid.xidCode)
    return 0
