"""Labels and names that several rows of the dashboard share."""

from ..queries import JOBS_OR_NONE

LOST = f"rankscope_gpu_seconds_lost_total{{{JOBS_OR_NONE}}}"
CLUSTER = 'cluster=~"$cluster"'
