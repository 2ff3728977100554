"""The network ports of a node: what they count, whether they are up, and which GPU they serve.

In: files of sysfs and /proc about ports and links. Out: samples and events of ports.
Imports: vocabulary; baselines, devices, health, kernel_files, settings, state.
"""
