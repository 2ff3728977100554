"""What share of the device's parts is at work, from GPM: Hopper and later, without DCGM's lock.

GPM needs two samples of the device's counters and shows what happened between them. It neither
takes the profiling lock that Nsight and CUPTI need nor asks for SYS_ADMIN.
"""

from typing import Any

import pynvml

from ..asking import PolledDevice, Series

_PERCENT: dict[int, Series] = {
    pynvml.NVML_GPM_METRIC_GRAPHICS_UTIL: ("hw.gpu.graphics.activity", ()),
    pynvml.NVML_GPM_METRIC_SM_UTIL: ("hw.gpu.sm.activity", ()),
    pynvml.NVML_GPM_METRIC_SM_OCCUPANCY: ("hw.gpu.sm.occupancy", ()),
    pynvml.NVML_GPM_METRIC_ANY_TENSOR_UTIL: ("hw.gpu.tensor.activity", ()),
    pynvml.NVML_GPM_METRIC_DRAM_BW_UTIL: ("hw.gpu.memory.activity", ()),
    pynvml.NVML_GPM_METRIC_FP64_UTIL: ("hw.gpu.pipe.activity", (("pipe", "fp64"),)),
    pynvml.NVML_GPM_METRIC_FP32_UTIL: ("hw.gpu.pipe.activity", (("pipe", "fp32"),)),
    pynvml.NVML_GPM_METRIC_FP16_UTIL: ("hw.gpu.pipe.activity", (("pipe", "fp16"),)),
    pynvml.NVML_GPM_METRIC_INTEGER_UTIL: ("hw.gpu.pipe.activity", (("pipe", "integer"),)),
}
_MEBIBYTES: dict[int, Series] = {
    pynvml.NVML_GPM_METRIC_PCIE_TX_PER_SEC: (
        "hw.gpu.pcie.throughput",
        (("direction", "transmit"),),
    ),
    pynvml.NVML_GPM_METRIC_PCIE_RX_PER_SEC: (
        "hw.gpu.pcie.throughput",
        (("direction", "receive"),),
    ),
    pynvml.NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC: (
        "hw.gpu.nvlink.throughput",
        (("direction", "transmit"),),
    ),
    pynvml.NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC: (
        "hw.gpu.nvlink.throughput",
        (("direction", "receive"),),
    ),
}
_WANTED = (*_PERCENT, *_MEBIBYTES)


def read(device: PolledDevice) -> None:
    """Say ratios (GPM gives percent) and bytes a second (MiB) since the last turn."""
    if not _supported(device):
        return
    samples = device.kept.get("gpm samples")
    if samples is None:
        first = device.ask_with("nvmlGpmSampleAlloc", pynvml.nvmlGpmSampleAlloc)
        second = device.ask_with("nvmlGpmSampleAlloc", pynvml.nvmlGpmSampleAlloc)
        if first is None or second is None:
            return
        samples = device.kept["gpm samples"] = [first, second]
        device.kept["gpm begun"] = _sampled(device, first)
        return
    before, after = samples
    if not _sampled(device, after):
        device.kept["gpm begun"] = False
        return
    samples.reverse()
    begun, device.kept["gpm begun"] = device.kept["gpm begun"], True
    if begun:
        _report(device, before, after)


def _sampled(device: PolledDevice, sample: Any) -> bool:
    taken = device.ask_with("nvmlGpmSampleGet", pynvml.nvmlGpmSampleGet, device.handle, sample)
    return taken is not None


def _supported(device: PolledDevice) -> bool:
    answer = device.kept.get("gpm support")
    if answer is None:
        support = device.ask("nvmlGpmQueryDeviceSupport")
        answer = device.kept["gpm support"] = bool(support and support.isSupportedDevice)
        if not answer:
            device.notes["GPM"] = "needs Hopper or later, and driver 520 or later"
    return bool(answer)


def _report(device: PolledDevice, before: Any, after: Any) -> None:
    request: Any = pynvml.c_nvmlGpmMetricsGet_t()
    request.version = pynvml.NVML_GPM_METRICS_GET_VERSION
    request.numMetrics = len(_WANTED)
    request.sample1, request.sample2 = before, after
    for place, number in enumerate(_WANTED):
        request.metrics[place].metricId = number
    if device.ask_with("nvmlGpmMetricsGet", pynvml.nvmlGpmMetricsGet, request) is None:
        return
    for place, number in enumerate(_WANTED):
        answer = request.metrics[place]
        if answer.nvmlReturn != pynvml.NVML_SUCCESS or answer.value != answer.value:
            continue  # not measured: NaN or an error of its own
        if number in _PERCENT:
            metric, pairs = _PERCENT[number]
            device.report(metric, min(1.0, answer.value / 100), *pairs)
        else:
            metric, pairs = _MEBIBYTES[number]
            device.report(metric, answer.value * (1 << 20), *pairs)
