"""A node without a GPU: a driver that is a double of C, and whatever runs with it."""
