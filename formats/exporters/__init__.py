"""Vendors' exporters: what each of their metrics is in the contract's names, units and attributes.

One table a vendor (`<vendor>.toml`); `loading` reads and checks them, `binding` turns a table and a
series into what is done with its values, `mapping` does it page by page, `faults` finds new faults.
"""

from ...vocabulary.tables import TableError
from .detection import detect
from .faults import FaultWatch
from .loading import VENDORS, hosts, load, overridden
from .mapping import Mapped, Mapping
from .tables import Table

__all__ = [
    "VENDORS",
    "FaultWatch",
    "Mapped",
    "Mapping",
    "Table",
    "TableError",
    "detect",
    "hosts",
    "load",
    "overridden",
]
