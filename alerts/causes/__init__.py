"""Which causes explain what was found: a catalogue of evidence, log-odds, explaining-away.

In: findings of one job and its topology, what was observed at all. Out: ranked hypotheses with
their evidence, checks and actions. Imports: vocabulary.
"""
