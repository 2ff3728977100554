"""Findings to incidents to causes to notices."""
