"""Profiles on request: what is asked of agents, the traces that come back, and what differs."""
