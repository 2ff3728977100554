"""What makes a whole page unusable: something else was answered, or more than may be read."""


class UnreadablePageError(Exception):
    """No reading can be made of this page; the text says why and what to do."""


class ForeignPageError(UnreadablePageError):
    """The answer is not in the Prometheus text format."""


class PageTooLargeError(UnreadablePageError):
    """The answer is longer than it may be."""
