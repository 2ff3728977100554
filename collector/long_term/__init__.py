"""What is derived here, written into the site's own store: remote write 1.0, off by default.

`gathering` says what it is at a moment, `sending` keeps it until the store has it.
"""
