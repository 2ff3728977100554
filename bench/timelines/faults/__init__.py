"""Faults: what each changes in the cluster at its onset; the symptoms follow by simulation."""
