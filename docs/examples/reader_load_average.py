"""Load average: how many processes ran or waited for a disk, over a minute.

`python -m tools.new reader NAME --metric METRIC` copies it to `agent/readers/`, lists it with the
others (agent/readers/__init__.py), adds its row to `agent/readers/readers.toml`, and a row to
`vocabulary/metrics.toml` where the metric is new. Inside the package imports are relative.
"""

from pathlib import Path

from rankscope.vocabulary.samples import Sample


class LoadAverage:
    """Reads /proc/loadavg, one small file of the kernel's."""

    name = "load_average"

    def __init__(self, *, period: float, proc: Path = Path("/proc")) -> None:
        self.period = period
        self._file = proc / "loadavg"

    def supported(self) -> tuple[bool, str]:
        """Return whether the file is there; absence is an answer, with what would help."""
        if self._file.exists():
            return True, ""
        return False, f"{self._file} is not there: mount the host's /proc and name it in node.proc"

    def read(self, now: float) -> list[Sample]:
        """Return one sample, timed `now`; an OSError or ValueError is counted by the agent."""
        minute = self._file.read_text(encoding="ascii").split()[0]
        return [Sample("system.cpu.load_average.1m", float(minute), now)]
