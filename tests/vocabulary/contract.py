"""The fault ids that users' dashboards, scripts and subscriptions are built on."""

_IDS = """
gpu.lost gpu.memory_uncorrectable gpu.row_remap gpu.firmware_hang gpu.nvlink gpu.pcie_degraded
gpu.thermal_throttle gpu.power_limited gpu.clock_locked gpu.silent_corruption gpu.foreign_process
gpu.slow memory.gpu_oom memory.gpu_leak memory.fragmentation memory.rank0_contexts
memory.host_leak memory.dataloader_leak memory.copy_on_read memory.host_oom memory.shm_exhausted
balance.rank0_gather balance.rank0_preprocessing balance.pipeline_stage balance.sequence_length
balance.expert network.nic_down network.link_flap network.cable_errors network.switch
network.congestion network.transport_fallback network.bootstrap_failed host.cpu_contention
host.driver_hang host.lost host.evicted host.storage_slow host.disk_full host.clock_skew
host.config_drift software.init_failed software.collective_mismatch software.uneven_batches
software.deadlock software.stuck_process software.dataloader_slow software.gc_pause
software.checkpoint_stall software.regression software.recompile software.crash numerics.nan_data
numerics.nan_precision numerics.nan_rank numerics.loss_spike numerics.divergence
numerics.gradient_explosion numerics.gradient_vanishing numerics.plateau numerics.bad_resume
numerics.replica_divergence efficiency.idle_gpu efficiency.low_utilization unknown
"""

FAULTS = tuple(_IDS.split())
