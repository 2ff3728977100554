"""What a page can show of a thousand ranks: telemetry summed up over ranks, steps and time.

Functions over matrices, without I/O and without a clock; the API answers with what they return.
"""
