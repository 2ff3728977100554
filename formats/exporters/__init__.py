"""Vendors' exporters: what each of their metrics is in the names and units of the vocabulary.

One table a vendor (`<vendor>.toml`); `loading` reads and checks them, `binding` turns a table and a
series into what is done with its values, `mapping` does it page by page, `faults` finds new faults.

In: series of an exporter's page. Out: samples and fault codes in the vocabulary's names. Imports:
vocabulary; exposition, fault_reports.
"""

from ...vocabulary.tables import TableError
from .detection import detect
from .faults import FaultWatch
from .loading import VENDORS, hosts, load, overridden
from .mapping import MappedPage, PageMapping
from .tables import ExporterTable

__all__ = [
    "VENDORS",
    "ExporterTable",
    "FaultWatch",
    "MappedPage",
    "PageMapping",
    "TableError",
    "detect",
    "hosts",
    "load",
    "overridden",
]
