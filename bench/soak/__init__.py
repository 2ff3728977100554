"""A collector under load that is killed at random: nothing may be lost, and nothing paged twice."""
