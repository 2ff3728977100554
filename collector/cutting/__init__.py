"""Cutting an incident's recording out of the journal, anonymised where that is asked for."""
