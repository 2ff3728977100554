"""Rankscope on a machine with a real GPU: what bench/device.sh runs, and says of each step."""

LEAK_SHARE = 0.0045
"""What the leak keeps, of the device's memory a minute: full in less than four hours."""

FOREIGN_BYTES = 8 << 30
"""What the foreign process holds."""
