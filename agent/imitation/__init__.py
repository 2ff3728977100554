"""Names of dcgm-exporter on our own page, so that its dashboards and rules work unchanged.

Values are the vocabulary's samples; names, types, units and factors are the table that reading a
dcgm-exporter uses too (formats/exporters/dcgm.toml), read in the other direction.
"""

from .dcgm import Imitation

__all__ = ["Imitation"]
