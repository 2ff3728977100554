"""Reading vendors' exporters: one thread a target, so that none waits for another."""
