"""What is measured and tried for a long time, in a checkout: no part of the wheel.

`budgets` measures what the design promises, `capacity` what one collector carries. `soak`,
`cluster` and `steady` run collectors for hours, and kill them. `node`, `live` and `scraping` are
nodes and clusters without hardware. `curves` and `buffered` try detectors and log reading on real
runs. Only tests and tools import it.
"""
