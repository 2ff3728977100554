"""Slurm's word on who uses a device: a process's environment, and the job files of a prolog.

The environment is the process's own claim and stands behind its cgroup (see cgroups.py). The job
files are those dcgm-exporter reads: a folder with one file a device, named by index ("0") or index
and MIG instance ("0.3"), that holds one job id a line; a prolog writes it, an epilog takes it away.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from .. import procfs

_FILE = re.compile(r"\d+(?:\.\d+)?")
_MOST_JOBS = 64
_JOB = re.compile(r"[\w.+\-\[\]]{1,64}")


def job_of(pid: int, proc: Path = procfs.PROC) -> str:
    """Return the job id in a process's environment, "" when there is none or it is not ours."""
    job = procfs.environ(pid, proc).get("SLURM_JOB_ID", "")
    return job if _JOB.fullmatch(job) else ""


def job_files(folder: Path) -> Mapping[str, tuple[str, ...]]:
    """Return job ids by file name, of the files that name a device; raises OSError.

    What looks like no job id is left out: these become labels.
    """
    found: dict[str, tuple[str, ...]] = {}
    for path in sorted(folder.iterdir()):
        if not _FILE.fullmatch(path.name) or not path.is_file():
            continue
        text = procfs.read(str(path)) or ""
        jobs = (line.strip() for line in text.splitlines())
        found[path.name] = tuple(job for job in jobs if _JOB.fullmatch(job))[:_MOST_JOBS]
    return found
