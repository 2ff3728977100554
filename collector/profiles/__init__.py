"""Profiles on request: what is asked of agents, and the traces that come back.

In: requests of people, and incidents that name a slow rank. Out: traces, and what a suspect does
that its healthy peer does not. Imports: alerts, formats, vocabulary; intake, journal, settings,
store, windows.
"""
