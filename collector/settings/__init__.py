"""What the collector can be set to, a file a section; nothing of the collector is imported here.

`collector.py` puts the sections together as one YAML file has them. In flow the file and the
environment, out the checked values that every other folder is given. It may import the settings
package, the vocabulary, and the lists of detectors and notifiers that settings name.
"""
