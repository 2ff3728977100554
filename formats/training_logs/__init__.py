"""What a training job writes: lines of frameworks and of libraries, and what they mean.

`read` takes the lines of a file, `TrainingLogParser` the bytes of a file that grows. Formats of
frameworks are data (frameworks/*.toml), and so are signatures of faults (signatures.toml).

In: lines of a job's output. Out: samples, events and steps, each with its line. Imports:
vocabulary; json_text, needles.
"""

from .line_formats import FormatError, LineFormat, own, shipped
from .logged import LoggedLine
from .parser import TrainingLogParser, read, texts

__all__ = [
    "FormatError",
    "LineFormat",
    "LoggedLine",
    "TrainingLogParser",
    "own",
    "read",
    "shipped",
    "texts",
]
