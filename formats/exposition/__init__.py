"""The Prometheus text format as exporters really write it: read line by line, bounded, forgiving.

`PageReader` reads page after page of one exporter and remembers what its series are, since they are
the same each time; `parse` reads a single page. Nothing here opens a connection.

In: pages of the Prometheus text format. Out: series with their values. Imports: none.
"""

from .errors import ForeignPageError, PageTooLargeError, UnreadablePageError
from .lines import ExpositionSeries, unescaped
from .pages import MAX_BYTES, PageContents, PageReader, parse

__all__ = [
    "MAX_BYTES",
    "ExpositionSeries",
    "ForeignPageError",
    "PageContents",
    "PageReader",
    "PageTooLargeError",
    "UnreadablePageError",
    "parse",
    "unescaped",
]
