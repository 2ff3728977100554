"""What launchers, schedulers and run-times write about the ends of ranks, tasks, pods and nodes.

`read` takes a log, `LaunchLines` its blocks one by one. The forms of lines are data, a TOML file a
launcher; only pods, which are described over many lines, have a reader of their own.

In: lines of a log. Out: reports, each with the line that completes it. Imports: behind_bars,
cleaning, needles, prefilter, times, vocabulary.
"""

from .forms import ReportKind, catalogue
from .reader import LaunchLines, read, texts
from .reports import LaunchReport

__all__ = ["LaunchLines", "LaunchReport", "ReportKind", "catalogue", "read", "texts"]
