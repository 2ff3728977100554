"""Labels and names that several rows of the dashboard share."""

INCIDENTS = 'job_id=~"$job"'
