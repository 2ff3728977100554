"""Names of dcgm-exporter on our own page, so that its dashboards and rules work unchanged.

Values are the vocabulary's samples; names, types, units and factors are the table that reading a
dcgm-exporter uses too (formats/exporters/dcgm.toml), read in the other direction.

In: samples of devices, and who holds them. Out: lines of the page of `/metrics`. Imports:
vocabulary; attribution.
"""

from .page import DcgmPage

__all__ = ["DcgmPage"]
