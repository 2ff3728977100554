"""What launchers, schedulers and run-times write about the ends of ranks, tasks, pods and nodes.

`read` takes the lines of a log. The forms of lines are data, a TOML file a launcher; only pods,
which are described over many lines, have a reader of their own.

In: lines of a log. Out: reports, each with the line that completes it. Imports: cleaning,
prefilter, times, vocabulary.
"""

from .forms import ReportKind, catalogue
from .reader import read
from .reports import LaunchReport

__all__ = ["LaunchReport", "ReportKind", "catalogue", "read"]
