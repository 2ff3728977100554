"""Labels and names that several rows of the dashboard share."""

INCIDENTS = 'job_id="$job"'
RANK = "{{host_name}} rank {{rank}}"
OF_RANK = "host_name, rank"
