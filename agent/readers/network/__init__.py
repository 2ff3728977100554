"""The network ports of a node: what they count, whether they are up, and which GPU they serve."""
