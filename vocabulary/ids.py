"""Names that carry their meaning in their type, so that a host is never passed for a job."""

from typing import NewType

Job = NewType("Job", str)
"""A training job's id, as `rankscope.job.id` carries it; the same over restarts."""

Host = NewType("Host", str)
"""A host's name, as `host.name` carries it."""

Fault = NewType("Fault", str)
"""A fault id of the catalogue, such as `host.cpu_contention`."""

IncidentId = NewType("IncidentId", str)
"""A hash of job, first symptom and onset: the same incident has the same id in every replay."""
