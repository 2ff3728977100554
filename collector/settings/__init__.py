"""What a collector can be set to, a file a section of its YAML file.

`collector.py` puts the sections together. The lists of detectors and notifiers are read, for a
setting may name them.

In: a YAML file and the environment. Out: the checked values that every other folder is given.
Imports: alerts, detectors, settings, vocabulary.
"""
