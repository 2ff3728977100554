"""A real local job under a recovery controller: evict the bad host, restart from the checkpoint."""
