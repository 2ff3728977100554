"""Vendors' exporters: what each of their metrics is in the contract's names, units and attributes."""
