"""Pure evaluation: matrices in, findings out. No I/O, no clock, no threads, no state."""
