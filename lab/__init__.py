"""The laboratory: real jobs with injected faults, the cluster simulator, recordings of both."""
