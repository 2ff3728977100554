"""The reference pages, written from the code: `python -m tools.reference [--check]`."""
