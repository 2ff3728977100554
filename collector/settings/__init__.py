"""What a collector can be set to, a file a section of its YAML file.

In flow the file and the environment, out the checked values that every other folder is given.
`collector.py` puts the sections together. It imports no other folder, only the reading of settings
and the lists of detectors and notifiers that a setting may name.
"""
