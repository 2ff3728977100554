"""The Prometheus text format as exporters really write it: read line by line, bounded, forgiving.

`Reader` reads page after page of one exporter and remembers what its series are, since they are the
same each time; `parse` reads a single page. Nothing here opens a connection.

In: pages of the Prometheus text format. Out: series with their values. Imports: none.
"""

from .errors import ForeignPageError, PageTooLargeError, UnreadablePageError
from .lines import Series, unescaped
from .pages import MAX_BYTES, Page, Reader, parse

__all__ = [
    "MAX_BYTES",
    "ForeignPageError",
    "Page",
    "PageTooLargeError",
    "Reader",
    "Series",
    "UnreadablePageError",
    "parse",
    "unescaped",
]
