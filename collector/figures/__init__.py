"""Telemetry summed up for pictures: a thousand ranks over steps and time.

Without I/O and without a clock.

In: matrices of `windows`. Out: quantiles, heat maps and waits as JSON has them. Imports: detectors,
vocabulary; windows.
"""
