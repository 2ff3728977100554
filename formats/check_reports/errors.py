"""Why a report cannot be read.

CheckReportError
├── UnknownReportError      it is of no tool that is known
└── TornReportError         it is, and something of it is missing or of another form
"""


class CheckReportError(ValueError):
    """A report that cannot be read; the text says what is wrong, and where."""


class UnknownReportError(CheckReportError):
    """No reader takes it."""


class TornReportError(CheckReportError):
    """It was cut off, or is of a version that writes it otherwise."""
