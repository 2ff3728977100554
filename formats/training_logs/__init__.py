"""What a training job writes: lines of frameworks and of libraries, and what they mean.

`read` takes the lines of a file, `Parser` the bytes of a file that grows. Formats of frameworks are
data (frameworks/*.toml), and so are signatures of faults (signatures.toml).

In: lines of a job's output. Out: samples, events and steps, each with its line. Imports:
vocabulary.
"""

from .line_formats import FormatError, LineFormat, own, shipped
from .logged import Logged
from .parser import Parser, read

__all__ = [
    "FormatError",
    "LineFormat",
    "Logged",
    "Parser",
    "own",
    "read",
    "shipped",
]
