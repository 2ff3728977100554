"""Recording rules: a job in few series, for long ranges and other people's dashboards.

Our own dashboards do not need them: they work with a Prometheus that loads no rules.
"""

from .queries import HELD_DOWN
from .rules import RecordingRule, RuleGroup

_BY = "by (cluster, job_id)"
_RANK = "by (cluster, job_id, host_name, rank)"
_STEP = "training_step_duration_seconds"
_COMM = "training_comm_duration_seconds"
_GOODPUT = "max by (job_id) (rankscope_job_goodput_ratio)"
_RANKS = "max by (job_id) (rankscope_job_ranks)"

RECORDINGS = (
    RuleGroup(
        "rankscope-jobs",
        (
            RecordingRule(
                "job_id:training_step_duration_seconds:median",
                f"quantile {_BY} (0.5, {_STEP})",
            ),
            RecordingRule("job_id:training_comm_duration_seconds:mean", f"avg {_BY} ({_COMM})"),
            RecordingRule(
                "job_id:training_own_duration_seconds:max",
                f"max {_BY} (max {_RANK} ({_STEP}) - max {_RANK} ({_COMM}))",
            ),
            RecordingRule("job_id:training_loss:median", f"quantile {_BY} (0.5, training_loss)"),
            RecordingRule("job_id:training_loss:max", f"max {_BY} (training_loss)"),
            RecordingRule("job_id:training_grad_norm:max", f"max {_BY} (training_grad_norm)"),
            RecordingRule(
                "job_id:training_tokens:rate",
                f"sum {_BY} (training_tokens) / quantile {_BY} (0.5, {_STEP})",
            ),
            RecordingRule("job_id:training_ranks:count", f"count {_BY} (training_rank_info)"),
        ),
    ),
    RuleGroup(
        "rankscope-nodes",
        (
            RecordingRule(
                "host_name:hw_gpu_utilization:mean",
                "avg by (cluster, host_name) (hw_gpu_utilization)",
            ),
            RecordingRule(
                "host_name:hw_power_watts:sum", "sum by (cluster, host_name) (hw_power_watts)"
            ),
            RecordingRule(
                "host_name:hw_temperature_celsius:max",
                "max by (cluster, host_name, hw_sensor) (hw_temperature_celsius)",
            ),
            RecordingRule(
                "host_name:hw_gpu_throttled:count",
                "sum by (cluster, host_name)"
                f" (max by (cluster, host_name, gpu) (hw_gpu_throttle{{{HELD_DOWN}}}))",
            ),
            RecordingRule(
                "host_name:hw_network_io_bytes:rate5m",
                "sum by (cluster, host_name, direction) (rate(hw_network_io_bytes_total[5m]))",
            ),
            RecordingRule(
                "host_name:hw_network_errors:rate5m",
                "sum by (cluster, host_name, error_type) (rate(hw_network_errors_total[5m]))",
            ),
        ),
    ),
    RuleGroup(
        "rankscope-losses",
        (
            RecordingRule(
                "fault:rankscope_gpus_lost:sum",
                "sum by (fault) (rankscope_gpus_lost)",
            ),
            RecordingRule(
                "rankscope_goodput:ratio",
                f"sum({_GOODPUT} * on (job_id) {_RANKS})"
                f" / sum({_RANKS} and on (job_id) rankscope_job_goodput_ratio)",
            ),
        ),
    ),
)
