"""The journal: every accepted payload with its receive time, on disk before it is acknowledged."""
