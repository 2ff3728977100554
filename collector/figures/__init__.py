"""Telemetry summed up for pictures: a thousand ranks over steps and time.

In flow matrices of `windows`, out quantiles, heat maps and waits as JSON has them, without I/O and
without a clock. It may import `windows`.
"""
