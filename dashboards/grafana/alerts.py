"""Alerts for a Prometheus that watches agents and collector.

Incidents that the collector finds come first: one alert each, with cause and place. Those on
hardware and jobs fire without the collector too. The rest is about Rankscope itself.
"""

from . import links
from .itself.alerts import ITSELF
from .queries import HELD_DOWN, of_any
from .rules import PERCENT, SECONDS, VALUE, AlertRule, RuleGroup

_AT = "{{ $labels.host_name }}"
_GPU = "GPU {{ $labels.gpu }} of {{ $labels.host_name }}"
_PORT = "{{ $labels.device }}:{{ $labels.port }} of {{ $labels.host_name }}"
_DEVICE = "cluster, host_name, gpu, hw_id"
_JOB = "{{ $labels.job_id }}"
_ENTITY = "{{ $labels.entity_type }} {{ $labels.entity }}"
_INCIDENT = f"{{{{ $labels.fault }}}}: {_ENTITY}, job {_JOB}"
_UNCORRECTED = 'hw_errors_total{error_type="uncorrected"}'
_HOST_LOST = "rankscope_host_gpu_seconds_lost_total"
_EXPLAINED = "Causes, evidence and actions: rankscope explain {{ $labels.incident }}."

INCIDENTS = RuleGroup(
    "rankscope-incidents",
    (
        AlertRule(
            "RankscopeIncidentCritical",
            of_any('rankscope_incident_active{severity="critical", status="open"}') + " == 1",
            "",
            "critical",
            _INCIDENT,
            f"Training is stopped, corrupted or about to be; not acknowledged. {_EXPLAINED}",
            links.INCIDENT,
        ),
        AlertRule(
            "RankscopeIncidentWarning",
            of_any('rankscope_incident_active{severity="warning", status="open"}') + " == 1",
            "2m",
            "warning",
            _INCIDENT,
            f"Training loses time or will fail; not acknowledged. {_EXPLAINED}",
            links.INCIDENT,
        ),
        AlertRule(
            "RankscopeGoodputLow",
            of_any("rankscope_job_goodput_ratio") + " < 0.9",
            "15m",
            "warning",
            f"Goodput of job {_JOB} is low",
            f"Incidents left {PERCENT} of its GPU time, less than 90 %.",
            links.CLUSTER,
        ),
        AlertRule(
            "RankscopeNodeCostsMuch",
            # Not increase(): a first cause that changes takes its costs along, and a counter that
            # fell by them would count for a reset, with all that the host ever lost.
            f"sum by (host_name) ({of_any(_HOST_LOST)}"
            f" - {of_any(f'min_over_time({_HOST_LOST}[24h])', 'min')}) > 86400",
            "",
            "warning",
            f"Incidents on {_AT} took more than 24 GPU-hours in a day",
            f"{SECONDS} of GPU time lost to causes on {_AT}: drain it and have it repaired.",
            links.NODE,
        ),
    ),
)

JOBS = RuleGroup(
    "rankscope-training",
    (
        AlertRule(
            "RankscopeJobSilent",
            of_any("rankscope_job_last_received_age_seconds", "min") + " > 60",
            "1m",
            "warning",
            f"Job {_JOB} reports nothing",
            f"Nothing arrived from job {_JOB} for {SECONDS}: it ended, or its agents cannot push.",
            links.JOB,
        ),
        AlertRule(
            "RankscopeTrainingStalled",
            "min by (cluster, job_id) (training_progress_age_seconds) > 600",
            "1m",
            "critical",
            f"No rank of job {_JOB} has ended a step for 10 minutes",
            f"The newest step of job {_JOB} ended {SECONDS} ago on every rank.",
            links.JOB,
        ),
        AlertRule(
            "RankscopeTrainingNonFinite",
            'sum by (cluster, job_id) (training_nonfinite{of!="grad_reduced"}) > 0',
            "1m",
            "critical",
            f"NaN or Inf in job {_JOB}",
            f"Ranks of job {_JOB} meet {VALUE} non-finite values a step.",
            links.JOB,
        ),
        AlertRule(
            "RankscopeRanksMissing",
            "max by (job_id) (rankscope_job_ranks) - on (job_id) count by (job_id)"
            " (count by (job_id, rank) (training_rank_info)) > 0",
            "2m",
            "warning",
            f"{VALUE} ranks of job {_JOB} do not report",
            f"Job {_JOB} has fewer ranks on the agents' pages than its world size.",
            links.JOB,
        ),
        AlertRule(
            "RankscopeStepSlower",
            "job_id:training_step_duration_seconds:median"
            " > 1.2 * quantile_over_time(0.5, job_id:training_step_duration_seconds:median[6h])",
            "15m",
            "warning",
            f"Steps of job {_JOB} are a fifth slower than usual",
            f"The median step takes {SECONDS}, a fifth above the median of six hours.",
            links.JOB,
        ),
    ),
)

HARDWARE = RuleGroup(
    "rankscope-hardware",
    (
        AlertRule(
            "RankscopeGpuFailed",
            'hw_gpu_count{state="failed"} > 0',
            "1m",
            "critical",
            f"{VALUE} GPUs of {_AT} failed",
            "On the bus, and the driver has lost them or does not answer for them.",
            links.NODE,
        ),
        AlertRule(
            "RankscopeGpuMemoryUncorrectable",
            # Not increase(): VictoriaMetrics counts the errors of a series that begins as new.
            f"last_over_time({_UNCORRECTED}[10m]) - min_over_time({_UNCORRECTED}[10m]) > 0",
            "",
            "critical",
            f"Uncorrectable memory error on {_GPU}",
            f"{VALUE} uncorrectable errors of {{{{ $labels.hw_part }}}} in 10 minutes.",
            links.NODE,
        ),
        AlertRule(
            "RankscopeGpuRowRemapFailed",
            'hw_gpu_row_remap{state="failed"} == 1',
            "",
            "critical",
            f"Row remapping failed on {_GPU}",
            "No spare rows are left for a faulty one: the device has to be replaced.",
            links.NODE,
        ),
        AlertRule(
            "RankscopeGpuThrottled",
            f"max by (cluster, host_name, gpu, hw_id) (hw_gpu_throttle{{{HELD_DOWN}}}) == 1",
            "5m",
            "warning",
            f"{_GPU} is held down",
            "Heat, a power brake or the board hold its clocks down; a synchronous job is as slow "
            "as this device.",
            links.NODE,
        ),
        AlertRule(
            "RankscopeGpuLinkDown",
            "count by (cluster, host_name, gpu) (hw_gpu_nvlink_up == 0) > 0",
            "5m",
            "warning",
            f"{VALUE} links of {_GPU} are down",
            "NVLink or its like: collectives take the slower way.",
            links.NODE,
        ),
        AlertRule(
            "RankscopeGpuPcieDegraded",
            f"max by ({_DEVICE}) (hw_gpu_pcie_width) < max by ({_DEVICE}) (hw_gpu_pcie_width_max)",
            "15m",
            "warning",
            f"{_GPU} runs on {VALUE} PCIe lanes",
            "Fewer lanes than device and slot have.",
            links.NODE,
        ),
        AlertRule(
            "RankscopePortDown",
            "hw_network_up == 0 and on (cluster, host_name, device, port)"
            " max_over_time(hw_network_up[1d]) == 1",
            "1m",
            "critical",
            f"Port {_PORT} is down",
            "It was up within the last day; a job that uses it hangs or fails.",
            links.NETWORK,
        ),
        AlertRule(
            "RankscopePortErrors",
            'rate(hw_network_errors_total{error_type=~"symbol_error|link_error_recovery'
            '|link_downed|port_rcv_errors"}[10m]) * 60 > 1',
            "10m",
            "warning",
            f"Errors on port {_PORT}",
            f"{VALUE} {{{{ $labels.error_type }}}} a minute: a cable or transceiver goes bad.",
            links.NETWORK,
        ),
        AlertRule(
            "RankscopeFileSystemFull",
            "system_filesystem_utilization > 0.95",
            "10m",
            "warning",
            f"{{{{ $labels.mountpoint }}}} of {_AT} is {PERCENT} full",
            "A checkpoint that does not fit ends the job.",
            links.NODE,
        ),
        AlertRule(
            "RankscopeClockOff",
            "abs(system_clock_offset_seconds) > 0.1",
            "10m",
            "warning",
            f"The clock of {_AT} is off by {SECONDS}",
            "Times of logs and traces of this node cannot be compared with others'.",
            links.NODE,
        ),
    ),
)

ALERTS = (INCIDENTS, JOBS, HARDWARE, ITSELF)
