"""Reading vendors' exporters: one thread a target, so that none waits for another.

In: pages of exporters, over HTTP. Out: samples and fault codes in the names of the vocabulary.
Imports: formats, vocabulary; health, settings.
"""
