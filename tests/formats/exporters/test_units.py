"""Every conversion: what the exporter wrote, and what it is in the vocabulary's unit."""

import pytest

LABELS = {
    "nvidia": 'gpu="0",UUID="GPU-1"',
    "ascend": 'id="0",vdie_id="V-1"',
    "cambricon": 'mlu="0",uuid="M-1"',
    "amd": 'gpu_id="0",gpu_uuid="A-1"',
    "hygon": 'minor_number="0",device_id="H-1"',
    "metax": 'deviceId="0",uuid="X-1"',
    "kunlun": 'card="0"',
}

CASES = """
nvidia    DCGM_FI_DEV_SM_CLOCK 1980 -> hw.frequency 1980000000
nvidia    DCGM_FI_DEV_SM_CLOCK_HERTZ 1980000000 -> hw.frequency 1980000000
nvidia    DCGM_FI_DEV_MEM_CLOCK 2619 -> hw.frequency 2619000000
nvidia    DCGM_FI_DEV_MEMORY_CLOCK_HERTZ 2619000000 -> hw.frequency 2619000000
nvidia    DCGM_FI_DEV_MAX_SM_CLOCK 1980 -> hw.frequency.limit 1980000000
nvidia    DCGM_FI_DEV_GPU_TEMP 41 -> hw.temperature 41
nvidia    DCGM_FI_DEV_GPU_TEMP_CELSIUS 41 -> hw.temperature 41
nvidia    DCGM_FI_DEV_SLOWDOWN_TEMP 87 -> hw.temperature.limit 87
nvidia    DCGM_FI_DEV_POWER_USAGE 112.4 -> hw.power 112.4
nvidia    DCGM_FI_DEV_BOARD_POWER_WATTS 112.4 -> hw.power 112.4
nvidia    DCGM_FI_DEV_ENFORCED_POWER_LIMIT 700 -> hw.power.limit 700
nvidia    DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION 5000 -> hw.energy 5
nvidia    DCGM_FI_DEV_GPU_ENERGY_JOULES_TOTAL 5 -> hw.energy 5
nvidia    DCGM_FI_DEV_GPU_UTIL 98 -> hw.gpu.utilization 0.98
nvidia    DCGM_FI_DEV_GPU_UTIL_RATIO 0.98 -> hw.gpu.utilization 0.98
nvidia    DCGM_FI_DEV_GPU_UTIL_RATIO 98 -> hw.gpu.utilization 0.98
nvidia    DCGM_FI_DEV_MEM_COPY_UTIL 37 -> hw.gpu.memory.copy.utilization 0.37
nvidia    DCGM_FI_DEV_MEMORY_UTIL_RATIO 0.37 -> hw.gpu.memory.copy.utilization 0.37
nvidia    DCGM_FI_DEV_ENC_UTIL 2 -> hw.gpu.encoder.utilization 0.02
nvidia    DCGM_FI_DEV_DEC_UTIL_RATIO 0.05 -> hw.gpu.decoder.utilization 0.05
nvidia    DCGM_FI_DEV_FB_USED 4 -> hw.gpu.memory.usage 4194304
nvidia    DCGM_FI_DEV_FB_USED_BYTES 4194304 -> hw.gpu.memory.usage 4194304
nvidia    DCGM_FI_DEV_FB_RESERVED 1 -> hw.gpu.memory.reserved 1048576
nvidia    DCGM_FI_DEV_FB_TOTAL 81559 -> hw.gpu.memory.limit 85520809984
nvidia    DCGM_FI_DEV_FB_CAPACITY_BYTES 85520809984 -> hw.gpu.memory.limit 85520809984
nvidia    DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL 1000 -> hw.gpu.nvlink.throughput 1024000000
nvidia    DCGM_FI_DEV_NVLINK_THROUGHPUT_TOTAL 1000 -> hw.gpu.nvlink.throughput 1024000000
nvidia    DCGM_FI_DEV_NVLINK_THROUGHPUT_BYTES_PER_SECOND 1024 -> hw.gpu.nvlink.throughput 1024
nvidia    DCGM_FI_DEV_NVLINK_BANDWIDTH_L3 1 -> hw.gpu.nvlink.throughput 1024000
nvidia    DCGM_FI_PROF_PCIE_TX_BYTES 1500 -> hw.gpu.pcie.throughput 1500
nvidia    DCGM_FI_DEV_PCIE_RX_THROUGHPUT 2 -> hw.gpu.pcie.throughput 2000
nvidia    DCGM_FI_DEV_POWER_VIOLATION 2500000000 -> hw.gpu.throttle.duration 2.5
nvidia    DCGM_FI_DEV_GPU_POWER_THROTTLE_SECONDS_TOTAL 2.5 -> hw.gpu.throttle.duration 2.5
nvidia    DCGM_FI_PROF_PIPE_TENSOR_ACTIVE 0.42 -> hw.gpu.tensor.activity 0.42
nvidia    DCGM_FI_PROF_TENSOR_UTIL_RATIO 0.42 -> hw.gpu.tensor.activity 0.42
nvidia    DCGM_FI_DEV_FAN_SPEED 35 -> hw.fan.speed_ratio 0.35
nvidia    DCGM_FI_DEV_RETIRED_PENDING 2 -> hw.gpu.retired_pages.pending 1
ascend    npu_chip_info_utilization 97 -> hw.gpu.utilization 0.97
ascend    npu_chip_info_temperature 46 -> hw.temperature 46
ascend    npu_chip_info_power 73.9 -> hw.power 73.9
ascend    npu_chip_info_voltage 0.9 -> hw.voltage 0.9
ascend    npu_chip_info_aicore_current_freq 1000 -> hw.frequency 1000000000
ascend    npu_chip_info_hbm_used_memory 61440 -> hw.gpu.memory.usage 64424509440
ascend    npu_chip_info_hbm_total_memory 65536 -> hw.gpu.memory.limit 68719476736
ascend    npu_chip_info_used_memory 1024 -> hw.gpu.memory.usage 1073741824
ascend    npu_chip_info_process_info_4711 1 -> hw.gpu.process.memory 1048576
ascend    npu_chip_info_hbm_bandwidth_utilization 45 -> hw.gpu.memory.activity 0.45
ascend    npu_chip_info_bandwidth_tx 23000.5 -> hw.network.throughput 23000500000
ascend    npu_chip_link_speed 200000 -> hw.network.bandwidth.limit 25000000000
ascend    npu_chip_optical_vcc 3245.1 -> hw.network.optical.voltage 3.2451
ascend    npu_chip_optical_tx_power_0 0.9095 -> hw.network.optical.power 0.0009095
ascend    npu_chip_info_hccs_bandwidth_info_total_tx 10.5 -> hw.gpu.nvlink.throughput 10500000000
ascend    npu_chip_info_pcie_rx_p_bw 0.25 -> hw.gpu.pcie.throughput 250000000
cambricon mlu_utilization 11 -> hw.gpu.utilization 0.11
cambricon mlu_memory_used 1000 -> hw.gpu.memory.usage 1000
cambricon mlu_power_usage 120 -> hw.power 120
cambricon mlu_frequency 1500 -> hw.frequency 1500000000
cambricon mlu_chip_temperature 61 -> hw.temperature 61
cambricon mlu_pcie_read_throughput 2000 -> hw.gpu.pcie.throughput 100000
cambricon mlu_pcie_current_speed 5 -> hw.gpu.pcie.generation 5
cambricon mlu_mlulink_speed{link="0"} 25 -> hw.gpu.nvlink.bandwidth.limit 25000000000
cambricon mlu_optical_voltage 3.3 -> hw.network.optical.voltage 3.3
cambricon mlu_optical_rx_power{lane="0"} -10 -> hw.network.optical.power 0.0001
cambricon mlu_optical_tx_power{lane="0"} 0 -> hw.network.optical.power 0.001
cambricon mlu_process_ipu_utilization{pid="1"} 50 -> hw.gpu.process.utilization 0.5
amd       gpu_power_usage 141 -> hw.power 141
amd       amd_gpu_power_usage 141 -> hw.power 141
amd       gpu_energy_consumed 123456789 -> hw.energy 123.456789
amd       gpu_junction_temperature 45 -> hw.temperature 45
amd       gpu_gfx_activity 96 -> hw.gpu.utilization 0.96
amd       gpu_total_vram 196592 -> hw.gpu.memory.limit 206141652992
amd       gpu_clock{clock_type="system"} 132 -> hw.frequency 132000000
amd       gpu_max_clock{clock_type="memory"} 1300 -> hw.frequency.limit 1300000000
amd       pcie_speed 32 -> hw.gpu.pcie.generation 5
amd       pcie_max_speed 16 -> hw.gpu.pcie.generation.max 4
amd       gpu_xgmi_link_rx{link_index="0"} 1000 -> hw.gpu.nvlink.io 1000000
amd       gpu_violation_ppt_residency_percentage 12 -> hw.gpu.throttle.share 0.12
amd       gpu_prof_simd_utilization 0.5 -> hw.gpu.pipe.activity 0.5
amd       gpu_voltage 850 -> hw.voltage 0.85
hygon     dcu_temp 45.5 -> hw.temperature 45.5
hygon     dcu_power_usage 90.2 -> hw.power 90.2
hygon     dcu_powercap 400 -> hw.power.limit 400
hygon     dcu_sclk 1500 -> hw.frequency 1500000000
hygon     hcu_utilizationrate 87 -> hw.gpu.utilization 0.87
hygon     dcu_usedmemory_bytes 60129542144 -> hw.gpu.memory.usage 60129542144
metax     mx_gpu_usage 93.5 -> hw.gpu.utilization 0.935
metax     gpu_usage 93.5 -> hw.gpu.utilization 0.935
metax     mx_memory_total{type="vram"} 67108864 -> hw.gpu.memory.limit 68719476736
metax     mx_memory_used{type="vram"} 1 -> hw.gpu.memory.usage 1024
metax     mx_board_power 61234 -> hw.power 61.234
metax     bway_power 61234 -> hw.power 61.234
metax     mx_board_power_limit 350000 -> hw.power.limit 350
metax     mx_gpu_clock 1600 -> hw.frequency 1600000000
metax     mx_pcie_bw{type="tx"} 5 -> hw.gpu.pcie.throughput 5000000
metax     mx_pcie_speed 32 -> hw.gpu.pcie.generation 5
metax     mx_mxlk_bw{type="rx",mxlkId="1"} 200 -> hw.gpu.nvlink.throughput 200000000
metax     mx_mxlk_traffic_total_bytes{type="tx",mxlkId="1"} 7 -> hw.gpu.nvlink.io 7
metax     mx_clk_thr_duration_total{type="power_brake"} 1500000 -> hw.gpu.throttle.duration 1.5
metax     mx_hbm_bw 1200000 -> hw.gpu.memory.throughput 1200000000000
metax     mx_chip_hotspot_temp 35.75 -> hw.temperature 35.75
kunlun    node_xpu_temp 44 -> hw.temperature 44
kunlun    node_xpu_powerUsage 380 -> hw.power 380
kunlun    node_xpu_utilization 95 -> hw.gpu.utilization 0.95
kunlun    node_xpu_memtotal 98304 -> hw.gpu.memory.limit 103079215104
kunlun    node_xpu_clock 1300 -> hw.frequency 1300000000
"""


@pytest.mark.parametrize("case", CASES.strip().splitlines())
def test_a_value_becomes_the_contracts_unit(case, values):
    vendor, series, written, _, metric, expected = case.split()
    name, _, own = series.rstrip("}").partition("{")
    labels = ",".join(part for part in (LABELS[vendor], own) if part)
    found = values(vendor, f"{name}{{{labels}}} {written}\n")
    values = [value for (one, _), value in found.items() if one == metric]
    assert values == [pytest.approx(float(expected), rel=1e-9)]


@pytest.mark.parametrize(
    "line",
    [
        'DCGM_FI_DEV_SM_CLOCK{gpu="0",UUID="G"} 9223372036854775794',
        'DCGM_FI_DEV_SM_CLOCK{gpu="0",UUID="G"} 9223372036854775792',
        'DCGM_FI_DEV_FB_USED{gpu="0",UUID="G"} 2147483632',
        'DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="G"} 140737488355328.0',
        'DCGM_FI_PROF_SM_ACTIVE{gpu="0",UUID="G"} NaN',
        'DCGM_FI_PROF_SM_ACTIVE{gpu="0",UUID="G"} +Inf',
        'DCGM_FI_DEV_MEMORY_TEMP{gpu="0",UUID="G"} 0',
    ],
)
def test_what_dcgm_writes_for_nothing_is_no_reading(line, values, read):
    assert values("nvidia", line + "\n") == {}
    assert read("nvidia", line + "\n").problems["blank"] == 1


@pytest.mark.parametrize(
    ("vendor", "line"),
    [
        ("ascend", 'npu_chip_info_health_status{id="0"} -1'),
        ("ascend", 'npu_chip_info_link_status{id="0"} -1'),
        ("ascend", 'npu_chip_info_power{id="0"} 4294967295'),
        ("cambricon", 'mlu_temperature{mlu="0"} -1'),
        ("cambricon", 'mlu_optical_status{mlu="0"} 2'),
        ("amd", 'gpu_edge_temperature{gpu_id="0"} 65535'),
        ("amd", 'gpu_power_usage{gpu_id="0"} 4294967295'),
        ("hygon", 'dcu_powercap{minor_number="0"} 0'),
        ("kunlun", 'node_xpu_temp{card="0"} -1'),
    ],
)
def test_not_supported_is_no_reading(vendor, line, values):
    assert values(vendor, line + "\n") == {}
