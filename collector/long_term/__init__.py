"""What the collector derives, written into the site's own store; off by default.

In flow incidents, goodput, findings and compute time at a moment, out remote write 1.0, kept until
the store has it. It may import `accounting`, `pipeline`, `store`, `health` and `settings`.
"""
