"""Actions tried: mixed faults on a stepped clock, the collector killed between any two writes."""
