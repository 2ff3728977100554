"""A real local job under a recovery controller: evict the bad host, restart from the checkpoint.

In: webhooks of a collector. Out: the job restarted without the host, and how long that took.
Imports: vocabulary; demo, jobs.
"""
