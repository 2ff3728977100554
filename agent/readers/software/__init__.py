"""What a node runs and how it is set: versions and settings by which hosts of a cluster differ.

In: versions and settings that lie in files. Out: one sample a fact, an event where one changed.
Imports: vocabulary; kernel_files, procfs, state, trainers.
"""
