"""The stub's C structures are byte for byte those of the public Python binding."""

import ctypes
import subprocess

import pynvml
import pytest

from rankscope.lab.node import nvml

# The stub's name of each structure, and the binding's.
PAIRS = {
    "nvmlMemory_t": pynvml.c_nvmlMemory_t,
    "nvmlMemory_v2_t": pynvml.c_nvmlMemory_v2_t,
    "nvmlUtilization_t": pynvml.c_nvmlUtilization_t,
    "nvmlPciInfo_t": pynvml.nvmlPciInfo_t,
    "nvmlViolationTime_t": pynvml.c_nvmlViolationTime_t,
    "nvmlMarginTemperature_t": pynvml.c_nvmlMarginTemperature_v1_t,
    "nvmlRowRemapperHistogramValues_t": pynvml.c_nvmlRowRemapperHistogramValues,
    "nvmlFieldValue_t": pynvml.c_nvmlFieldValue_t,
    "nvmlProcessInfo_t": pynvml.c_nvmlProcessInfo_v3_t,
    "nvmlProcessUtilizationSample_t": pynvml.c_nvmlProcessUtilizationSample_t,
    "nvmlEventData_t": pynvml.c_nvmlEventData_t,
    "nvmlGpuFabricInfo_t": pynvml.c_nvmlGpuFabricInfo_t,
    "nvmlGpuFabricInfo_v2_t": pynvml.c_nvmlGpuFabricInfo_v2_t,
    "nvmlGpuFabricInfo_v3_t": pynvml.c_nvmlGpuFabricInfo_v3_t,
    "nvmlGpuOperationalEventConfig_v1_t": pynvml.c_nvmlGpuOperationalEventConfig_v1_t,
    "nvmlEventSetWait_v3_t": pynvml.c_nvmlEventSetWait_v3_t,
    "nvmlEventSetGetContextCount_v1_t": pynvml.c_nvmlEventSetGetContextCount_v1_t,
    "nvmlEventSetGetContextInfo_v1_t": pynvml.c_nvmlEventSetGetContextInfo_v1_t,
    "nvmlEventSetGetGpuOperationalEventContextLegacyXid_v1_t": (
        pynvml.c_nvmlEventSetGetGpuOperationalEventContextLegacyXid_v1_t
    ),
    "nvmlGpmSupport_t": pynvml.c_nvmlGpmSupport_t,
    "nvmlGpmMetric_t": pynvml.c_nvmlGpmMetric_t,
}

# The word by which the binding says which form of a structure it holds.
VERSIONS = {
    ("nvmlMemory_v2_t", 2): pynvml.nvmlMemory_v2,
    ("nvmlMarginTemperature_t", 1): pynvml.nvmlMarginTemperature_v1,
    ("nvmlGpuFabricInfo_v2_t", 2): pynvml.nvmlGpuFabricInfo_v2,
    ("nvmlGpuFabricInfo_v3_t", 3): pynvml.nvmlGpuFabricInfo_v3,
}


@pytest.fixture(scope="module")
def measured(tmp_path_factory, program):
    """Return what the compiler says of each structure: sizes, offsets and version words."""
    asks = [f'printf("{name} %zu\\n", sizeof({name}));' for name in PAIRS]
    asks += [
        f'printf("{name}.{field} %zu\\n", offsetof({name}, {field}));'
        for name, binding in PAIRS.items()
        for field, *_ in binding._fields_
    ]
    asks += [
        f'printf("{name}#{form} %u\\n", VERSION_OF({name}, {form}));' for name, form in VERSIONS
    ]
    folder = tmp_path_factory.mktemp("sizes")
    source = folder / "sizes.c"
    source.write_text(
        '#include <stdio.h>\n#include "nvml_types.h"\nint main(void) {\n'
        + "\n".join(asks)
        + "\n}\n"
    )
    subprocess.run([program("gcc"), f"-I{nvml.HERE}", "-o", folder / "sizes", source], check=True)
    said = subprocess.run([folder / "sizes"], check=True, capture_output=True, text=True).stdout
    return {name: int(number) for name, number in map(str.split, said.splitlines())}


@pytest.mark.parametrize("name", sorted(PAIRS))
def test_a_structure_is_laid_out_as_the_binding_has_it(name, measured):
    binding = PAIRS[name]
    assert measured[name] == ctypes.sizeof(binding)
    for field, *_ in binding._fields_:
        assert measured[f"{name}.{field}"] == getattr(binding, field).offset, field


@pytest.mark.parametrize(("name", "form"), sorted(VERSIONS))
def test_a_version_word_is_the_bindings(name, form, measured):
    assert measured[f"{name}#{form}"] == VERSIONS[name, form]


def test_the_array_of_gpm_metrics_begins_where_the_binding_has_it(measured):
    # 8 bytes of version and count, two pointers; its length is the release's, not ours.
    assert pynvml.c_nvmlGpmMetricsGet_t.metrics.offset == 24
    assert pynvml.c_nvmlGpmMetricsGet_t.sample2.offset == 16
