"""What one check settles: incidents whose leading causes are close, each asked one thing more."""
