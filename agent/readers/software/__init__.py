"""What a node runs and how it is set: versions and settings by which hosts of a cluster differ."""
